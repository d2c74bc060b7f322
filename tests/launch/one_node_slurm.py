"""A Slurm of one node that lives in a directory and ends with the test: Debian's daemons, with ports and keys of their own."""

import os
import pwd
import socket
import subprocess
import time

CONFIGURATION = """
ClusterName=segue
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket,cred_expire=5
SlurmctldPort={controller_port}
SlurmdPort={node_port}
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=usual Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=60 State=UP
PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=2 PreemptMode=OFF State=UP
"""
DAEMONS = ("munged", "slurmctld", "slurmd")
PROGRAMS = (*DAEMONS, "sbatch", "srun", "scontrol", "scancel", "sinfo")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class OneNodeSlurm:
    def __init__(self, directory, environment):
        self.directory = directory
        self.environment = dict(environment, SLURM_CONF=f"{directory}/slurm.conf")
        self.daemons = []

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if len(self.daemons) == len(DAEMONS):
            subprocess.run(["scancel", "--full", "--signal=KILL", "--user", str(os.getuid())], env=self.environment)
        for daemon in reversed(self.daemons):
            daemon.terminate()
            daemon.wait()

    def configure(self):
        os.chmod(self.directory, 0o755)  # munged refuses a directory that others may write or not pass
        for name in ("state", "spool"):
            os.mkdir(f"{self.directory}/{name}")
        controller_port, node_port = free_ports(2)
        with open(f"{self.directory}/slurm.conf", "w") as file:
            file.write(CONFIGURATION.format(directory=self.directory, host=socket.gethostname().split(".")[0],
                                            user=pwd.getpwuid(os.getuid()).pw_name, controller_port=controller_port,
                                            node_port=node_port))
        with open(os.open(f"{self.directory}/munge.key", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(128))

    def start(self):
        self.configure()
        files = [f"--{option}={self.directory}/munge.{ending}" for option, ending in
                 (("key-file", "key"), ("socket", "socket"), ("pid-file", "pid"), ("log-file", "log"), ("seed-file", "seed"))]
        self.start_daemon("munged", "--foreground", *files)
        self.wait_for(lambda: os.path.exists(f"{self.directory}/munge.socket"))
        self.start_daemon("slurmctld", "-D")
        self.start_daemon("slurmd", "-D")
        self.wait_for(self.has_an_idle_node)

    def has_an_idle_node(self):
        done = subprocess.run(["sinfo", "--noheader", "--format=%T"], env=self.environment, capture_output=True, text=True)
        return "idle" in done.stdout

    def start_daemon(self, *command):
        with open(f"{self.directory}/{command[0]}.out", "w") as output:
            self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=output, stderr=subprocess.STDOUT))

    def wait_for(self, condition, seconds=30):
        """TimeoutError, with what the daemons said, when the condition does not come to hold or one of them ends."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or any(daemon.poll() is not None for daemon in self.daemons):
                raise TimeoutError("".join(map(self.said_by, DAEMONS)))
            time.sleep(0.1)

    def said_by(self, daemon):
        path = f"{self.directory}/{daemon}.out"
        return open(path).read() if os.path.exists(path) else ""

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True).stdout

    def submit(self, *arguments, cwd):
        return self.ask("sbatch", "--parsable", f"--chdir={cwd}", *map(str, arguments)).strip()

    def state_of(self, job):
        """Its state, and how often it was queued again."""
        words = dict(word.split("=", 1) for word in self.ask("scontrol", "show", "job", job).split() if "=" in word)
        return words["JobState"], int(words["Restarts"])

    def processes_of(self, job, name):
        """Ids of the processes of the job whose program's name begins so."""
        listed = [line.split()[0] for line in self.ask("scontrol", "listpids", job).splitlines()[1:]]
        names = subprocess.run(["ps", "-o", "pid=,comm=", "-p", ",".join(listed)], capture_output=True, text=True).stdout
        return [int(line.split()[0]) for line in names.splitlines() if line.split()[1].startswith(name)]
