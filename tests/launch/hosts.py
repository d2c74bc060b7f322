"""Hosts in one machine: network namespaces with names of their own, each on its own link to a switch."""

import os
import pathlib
import subprocess
import sys

SETTINGS = str(pathlib.Path(__file__).resolve().parents[2] / "launch" / "cluster" / "hosts.conf")
INSIDE = "SEGUE_INSIDE_NAMESPACES"
NETWORK = "10.77.0"
BURST = "128kb"  # that a link with a rate lets pass at once
QUEUE = "20ms"  # of its rate, that wait for it


def enter():
    """Runs this program again as root of namespaces of its own; returns its exit code, or None in that second life. Raises
    PermissionError where namespaces are not permitted."""
    if os.environ.get(INSIDE):
        return None
    # Processes have a namespace too: whatever a failure leaves behind ends with it.
    command = ["unshare", "--map-root-user", "--net", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child"]
    links = "ip link add switch type bridge && ip link add link0 type veth"
    attempt = subprocess.run([*command, "sh", "-c", links], capture_output=True, text=True)
    if attempt.returncode != 0:
        raise PermissionError(attempt.stderr.strip())
    return subprocess.run([*command, sys.executable, "-B", *sys.argv], env={**os.environ, INSIDE: "1"}).returncode


def run(command):
    subprocess.run(command, shell=True, check=True)


class Host:
    """Its namespaces live as long as a process that holds them; those of this process are a host too."""

    def __init__(self, name=None):
        if name is None:
            self.holder, self.pid = None, os.getpid()
            return
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", "echo; exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        self.pid = self.holder.pid
        self.run(f"hostname {name}")

    def run(self, command):
        subprocess.run(["nsenter", "--target", str(self.pid), "--net", "--uts", "sh", "-c", command], check=True)

    def sent_bytes(self):
        read = subprocess.run(["nsenter", "--target", str(self.pid), "--net", "cat", "/proc/net/dev"],
                              capture_output=True, text=True, check=True)
        (link,) = [line for line in read.stdout.splitlines() if line.strip().startswith("link0:")]
        return int(link.split()[9])


class Hosts:
    """This process is on the first. `rate`, in words of tc, is that of each link in each direction."""

    def __init__(self, names, directory, slots=1, rate=None):
        self.switch = Host("switch")
        self.switch.run("ip link add switch type bridge && ip link set switch up")
        self.hosts = [Host(), *map(Host, names[1:])]
        run(f"hostname {names[0]}")
        for index, host in enumerate(self.hosts):
            self.connect(index, host, rate)
        self.hostfile, self.agent = os.path.join(directory, "hosts"), os.path.join(directory, "agent")
        with open(self.hostfile, "w") as file:
            file.writelines(f"{self.address(index)} slots={slots}\n" for index in range(len(names)))
        self.write_agent()

    @staticmethod
    def address(index):
        return f"{NETWORK}.{index + 1}"

    def connect(self, index, host, rate):
        run(f"ip link add port{index} netns {self.switch.pid} type veth peer name link0 netns {host.pid}")
        self.switch.run(f"ip link set port{index} master switch up")
        host.run(f"ip link set lo up && ip address add {self.address(index)}/24 dev link0 && ip link set link0 up")
        if rate:
            shape = f"root tbf rate {rate} burst {BURST} latency {QUEUE}"
            self.switch.run(f"tc qdisc add dev port{index} {shape}")
            host.run(f"tc qdisc add dev link0 {shape}")

    def write_agent(self):
        """In place of ssh: HOST COMMAND..."""
        cases = "".join(f"{self.address(index)}) pid={host.pid} ;;\n" for index, host in enumerate(self.hosts))
        with open(self.agent, "w") as file:
            file.write(f'#!/bin/sh\ncase $1 in\n{cases}esac\nshift\nexec nsenter --target $pid --net --uts -- sh -c "$*"\n')
        os.chmod(self.agent, 0o755)

    def environment(self, directory):
        """For mpirun."""
        network = f"{NETWORK}.0/24"
        return {"OMPI_MCA_plm_rsh_agent": self.agent, "OMPI_MCA_orte_tmpdir_base": directory,
                "OMPI_MCA_oob_tcp_if_include": network, "OMPI_MCA_btl_tcp_if_include": network,
                "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

    def launcher(self):
        return ["mpirun", "--tune", SETTINGS, "--hostfile", self.hostfile]

    def sent_bytes(self):
        """Of each host."""
        return [host.sent_bytes() for host in self.hosts]

    def close(self):
        for host in (self.switch, *self.hosts[1:]):
            host.holder.kill()
