"""The queue of runs: one at a time over all projects, each in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Thread
from typing import Any, Literal

from shoal.web.projects import Project, Projects
from shoal.web.refusals import Refusal
from shoal.web.releases import Releases, prepared

Phase = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
ACTIVE: tuple[Phase, ...] = ("queued", "running")
_FILE = "run.json"
_MOST_POINTS = 400
_PATIENCE = 10.0  # seconds after which a run that does not stop is stopped harder


@dataclass
class Asked:
    """What a run should do besides what the recipe says."""

    also: list[int] = field(default_factory=list)
    accept_composition: bool = False
    bound: bool = True
    analyses: list[str] = field(default_factory=list)


@dataclass
class Job:
    """A run, from the queue to its end. The worker changes it; `number` grows with every change."""

    project: str
    asked: Asked
    phase: Phase = "queued"
    stage: str = ""
    share: float = 0.0
    text: str = ""
    losses: list[tuple[float, float]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: dict[str, Any] | None = None
    release: int | None = None
    result: dict[str, Any] | None = None
    seconds: float = 0.0
    number: int = 0
    began: float | None = None

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.phase in ACTIVE

    def to_dict(self) -> dict[str, Any]:
        """Return the run as in JSON."""
        seconds = time.monotonic() - self.began if self.phase == "running" and self.began else self.seconds
        return {
            "phase": self.phase,
            "stage": self.stage,
            "share": self.share,
            "text": self.text,
            "losses": self.losses,
            "warnings": self.warnings,
            "error": self.error,
            "release": self.release,
            "result": self.result,
            "seconds": round(seconds, 2),
            "also": self.asked.also,
        }


class Jobs:
    """The queue, and the last run of each project."""

    def __init__(self, projects: Projects) -> None:
        self._projects = projects
        self._last: dict[str, Job] = {}
        self._waiting: deque[tuple[Project, Job, Path]] = deque()
        self._changed = Condition()
        self._process: subprocess.Popen[str] | None = None
        self._running: Job | None = None
        self._is_stopping = False
        self._worker: Thread | None = None

    def start(self) -> None:
        """Say what happened to runs that the last server did not end, remove what they left, and begin."""
        for project in self._projects.all():
            self._recall(project)
            Releases(project).remove_unfinished()
        self._worker = Thread(target=self._work, name="runs", daemon=True)
        self._worker.start()

    def stop(self) -> None:
        """End the running process, and wait for it. What waits in the queue is forgotten as interrupted."""
        with self._changed:
            self._is_stopping = True
            for project, job, folder in self._waiting:
                self._end(project, job, "interrupted")
                shutil.rmtree(folder, ignore_errors=True)
            self._waiting.clear()
            self._changed.notify_all()
        self._interrupt()
        if self._worker is not None:
            self._worker.join(2 * _PATIENCE)

    def submit(self, project: Project, asked: Asked) -> Job:
        """Put a run into the queue; the recipe is taken as it is now."""
        with self._changed:
            if self._is_active(project.name):
                message = "This project already has a run that waits or is at work."
                raise Refusal(409, "web.busy", message, "wait for it, or cancel it")
            _ = project.private  # refused now rather than when there is something to record
            folder = prepared(project)
            job = Job(project.name, asked)
            self._last[project.name] = job
            self._save(project, job)
            self._waiting.append((project, job, folder))
            self._changed.notify_all()
        return job

    def cancel(self, project: Project) -> Job:
        """Cancel the run of a project."""
        with self._changed:
            job = self._last.get(project.name)
            if job is None or not job.is_active:
                raise Refusal(409, "web.idle", "There is no run to cancel.", "it may have just ended")
            if job.phase == "queued":
                for entry in [entry for entry in self._waiting if entry[1] is job]:
                    self._waiting.remove(entry)
                    shutil.rmtree(entry[2], ignore_errors=True)
                self._end(project, job, "cancelled")
                return job
            job.phase, job.text = "cancelled", ""  # the worker ends it
            self._touch(job)
        self._interrupt()
        return job

    def of(self, project: Project) -> Job | None:
        """Return the last run of a project; None if there was none."""
        return self._last.get(project.name) or self._recall(project)

    def ahead_of(self, job: Job) -> int:
        """Return how many runs come before one that waits."""
        waiting = [entry[1] for entry in self._waiting]
        return waiting.index(job) + (self._running is not None) if job in waiting else 0

    def _is_active(self, name: str) -> bool:
        job = self._last.get(name)
        return (job is not None and job.is_active) or (self._running is not None and self._running is job)

    def _touch(self, job: Job) -> None:
        job.number += 1

    def _work(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_stopping:
                    self._changed.wait()
                if self._is_stopping:
                    return
                project, job, folder = self._waiting.popleft()
                job.phase, job.began = "running", time.monotonic()
                self._running = job
                self._save(project, job)
                self._touch(job)
            try:
                self._run(project, job, folder)
            except Exception:  # a full disk, for example; its message may name anything
                job.error = _lost("The run could not be started or recorded.")
                self._end(project, job, "failed")
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                self._running = None

    def _run(self, project: Project, job: Job, folder: Path) -> None:
        """Run one job in a process, and follow what it reports."""
        process = _started(project, job, folder)
        with self._changed:
            self._process = process
            is_cancelled = job.phase == "cancelled" or self._is_stopping
        if is_cancelled:
            self._interrupt()
        assert process.stdout is not None
        with suppress(BrokenPipeError), process:  # closes the pipes and waits
            for line in process.stdout:
                with suppress(ValueError):
                    self._follow(job, json.loads(line))
        with self._changed:
            self._process = None
            phase = self._outcome(project, job, folder)
            self._end(project, job, phase)

    def _outcome(self, project: Project, job: Job, folder: Path) -> Phase:
        """Give a release its number, or say why there is none."""
        if job.phase == "cancelled":
            return "cancelled"
        if job.error is not None:
            return "failed"
        if job.result is None:
            if self._is_stopping:
                return "interrupted"
            job.error = _lost("The process of the run ended without a result; memory may have run out.")
            return "failed"
        job.release = Releases(project).add(folder)
        return "done"

    def _follow(self, job: Job, report: dict[str, Any]) -> None:
        """Take over what the process reports."""
        if "done" in report:
            job.result = {key: report["done"].get(key) for key in _SHOWN}
        elif "failed" in report:
            job.error = report["failed"]
        elif "warning" in report:
            job.warnings.append(report["warning"])
        else:
            job.stage, job.share, job.text = report["stage"], report["share"], report["text"]
            if report["loss"] is not None and job.began is not None:
                job.losses.append((round(time.monotonic() - job.began, 2), report["loss"]))
                if len(job.losses) > _MOST_POINTS:
                    job.losses[:] = [*job.losses[:-1:2], job.losses[-1]]
        self._touch(job)

    def _interrupt(self) -> None:
        """Ask the running process to stop, and make it stop if it does not."""
        process = self._process
        if process is None:
            return
        _signal(process, signal.SIGINT)
        Thread(target=_insist, args=(process,), daemon=True).start()

    def _end(self, project: Project, job: Job, phase: Phase) -> None:
        job.phase = phase
        if job.began is not None:
            job.seconds = time.monotonic() - job.began
        with suppress(OSError):
            self._save(project, job)
        self._touch(job)

    def _save(self, project: Project, job: Job) -> None:
        """Record the run, so that a restarted server knows of it."""
        data = {**job.to_dict(), "asked": vars(job.asked)}
        place = project.private / _FILE
        with open(
            os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
        ) as file:
            json.dump(data, file)

    def _recall(self, project: Project) -> Job | None:
        """Return the run that an earlier server recorded; one that it did not end was interrupted."""
        try:
            data = json.loads((project.folder / ".shoal" / _FILE).read_text(encoding="utf-8"))
            job = Job(project.name, Asked(**data.pop("asked")))
            for key in ("phase", "losses", "warnings", "error", "release", "result", "seconds"):
                setattr(job, key, data[key])
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if job.is_active:
            self._end(project, job, "interrupted")
        self._last[project.name] = job
        return job


# What of a run's result the page shows. The exact losses stay out: they are a fingerprint of the raw table.
_SHOWN = (
    "rows",
    "released",
    "suppressed",
    "classes",
    "k",
    "goals",
    "method",
    "dangers",
    "composition",
    "remarks",
)


def _started(project: Project, job: Job, folder: Path) -> subprocess.Popen[str]:
    """Start the process of a run and send it its task."""
    also = [str(Releases(project).get(number).manifest) for number in job.asked.also]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "shoal.web.child"],  # -P: do not import modules from the working folder
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a crash may print anything
        text=True,
        encoding="utf-8",
        cwd=project.folder,
        start_new_session=True,
    )
    assert process.stdin is not None
    asked = {"folder": str(folder), **vars(job.asked), "also": also}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    return process


def _signal(process: subprocess.Popen[str], number: int) -> None:
    """Send a signal to the process and to all that it has started."""
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, number)
        else:
            process.terminate()


def _insist(process: subprocess.Popen[str]) -> None:
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
            return
        _signal(process, number)


def _lost(message: str) -> dict[str, Any]:
    return {
        "code": "web.lost",
        "message": message,
        "hint": "nothing was left behind; try again",
        "faults": [],
    }
