"""What launch/checks/chaos has done so far, for its lines of progress and its table."""

import collections
import datetime
import threading
import time

MOST_FINDINGS = 20  # then it ends: each keeps a directory


class Ledger:
    """Counts of all threads."""

    def __init__(self, seconds):
        self.lock = threading.Lock()
        self.begin = self.reported = time.monotonic()
        self.seconds = seconds
        self.harms = collections.Counter()
        self.inside = collections.Counter()
        self.endings = collections.defaultdict(collections.Counter)
        self.campaigns = collections.Counter()
        self.attempts = 0
        self.findings = []
        self.widest = 0.0  # difference of an elastic campaign

    def harmed(self, name, is_inside):
        with self.lock:
            self.harms[name] += 1
            self.inside[name] += is_inside

    def ended(self, name, code):
        """The attempt that this harm ended, or None: the run went on."""
        with self.lock:
            self.endings[name]["went on" if code is None else f"exit {code}"] += 1

    def attempted(self):
        with self.lock:
            self.attempts += 1

    def finished(self, campaign):
        with self.lock:
            self.campaigns[campaign.kind()] += 1
            self.widest = max(self.widest, campaign.difference)

    def found(self, campaign, finding, kept):
        with self.lock:
            self.findings.append(finding)
            print(f"FINDING in campaign {campaign.number} ({campaign.kind()}, {campaign.variant}): {finding}; kept in {kept}",
                  flush=True)

    def may_go_on(self):
        return len(self.findings) < MOST_FINDINGS

    def _counts(self):
        return (f"{self.harms.total()} harms, {self.inside.total()} inside a save, {self.attempts} starts, "
                f"{self.campaigns.total()} campaigns compared, {len(self.findings)} findings")

    def report_progress(self, interval):
        now = time.monotonic()
        if now - self.reported < interval:
            return
        self.reported = now
        left = max(0.0, self.seconds - (now - self.begin))
        end = datetime.datetime.now() + datetime.timedelta(seconds=left)
        with self.lock:
            print(f"{(now - self.begin) / 60:.1f} of {self.seconds / 60:g} min: {self._counts()}; ends at about {end:%H:%M:%S}",
                  flush=True)

    def table(self):
        rows = [("harm", "times", "inside a save", "and then")]
        for name, count in sorted(self.harms.items()):
            endings = ", ".join(f"{what} {times}" for what, times in sorted(self.endings[name].items()))
            rows.append((name, str(count), str(self.inside[name]), endings))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = ["  ".join([row[0].ljust(widths[0]), row[1].rjust(widths[1]), row[2].rjust(widths[2]), row[3]]) for row in rows]
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.campaigns.items()))
        minutes = (time.monotonic() - self.begin) / 60
        return "\n".join(["", *lines, "", f"campaigns compared: {kinds or 'none'}; widest difference of an elastic one "
                          f"{self.widest:.1e}", f"{self._counts()} in {minutes:.1f} min"])
