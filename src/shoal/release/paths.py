"""Where the files of a release go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from shoal.recipe import Recipe, Shape, file_of_table, induced_file
from shoal.release.signing import signature_path
from shoal.table.siblings import listed_tables, part_paths, refuse_siblings, stale_views, view_paths
from shoal.table.write import check_target, manifest_path, report_path


@dataclass(frozen=True)
class Places:
    """Where the files of a release go.

    Parameters
    ----------
    shape : Shape
    target : Path
        The name that they share.
    tables : list of Path
        In the order of the parts; none if the release goes to a database.
    manifest : Path
    reports : list of Path
        One for each table that has a report; none if no report is asked for.
    hierarchies : dict of str to Path
        Induced hierarchies, by column.
    signatures : list of Path
        The signature of the manifest; none if it is not signed.
    """

    shape: Shape
    target: Path
    tables: list[Path]
    manifest: Path
    reports: list[Path]
    hierarchies: dict[str, Path]
    signatures: list[Path]

    @classmethod
    def of(cls, recipe: Recipe, target: Path, *, report: bool, signed: bool = False) -> Places:
        """Return where the files of a release go."""
        match recipe.shape:
            case Shape.VIEWS:
                tables = view_paths(target, len(recipe.views))
            case Shape.TWO_TABLES:
                tables = list(part_paths(target))
            case _:
                tables = [target]
        return cls._beside(recipe, target, tables, report=report, signed=signed)

    @classmethod
    def of_table(cls, recipe: Recipe, table: str, *, report: bool, signed: bool = False) -> Places:
        """Return where the files about a table in a database go: to the working directory."""
        return cls._beside(recipe, file_of_table(table), [], report=report, signed=signed)

    @classmethod
    def _beside(
        cls, recipe: Recipe, target: Path, tables: list[Path], *, report: bool, signed: bool
    ) -> Places:
        hierarchies = {name: induced_file(target, name) for name in recipe.induced}
        manifest = manifest_path(target)
        signatures = [signature_path(manifest)] if signed else []
        places = cls(recipe.shape, target, tables, manifest, [], hierarchies, signatures)
        reports = [report_path(target.with_name(name)) for name in places.reported] if report else []
        return replace(places, reports=reports)

    @property
    def reported(self) -> list[str]:
        """The names of what reports describe: each table, or the name that Anatomy's two tables share."""
        is_one = self.shape is Shape.TWO_TABLES or not self.tables
        return [self.target.name] if is_one else [table.name for table in self.tables]

    @property
    def all(self) -> list[Path]:
        """All files, tables first."""
        return [*self.tables, self.manifest, *self.reports, *self.hierarchies.values(), *self.signatures]

    def check(self) -> None:
        """Refuse a place where the tables cannot be written, before any work is done.

        Existing tables of another shape with the same name would lose their manifest, and anyone who takes
        all files with that name would publish both releases.
        """
        check_target(self.target)
        refuse_siblings([file.name for file in self.tables], self._of_other_shapes())
        for file in self.tables:
            check_target(file)
        self.stale()

    def stale(self) -> list[Path]:
        """List what an earlier release had beyond this one: views, and the signature of its manifest."""
        views = stale_views(self.target, len(self.tables)) if self.shape is Shape.VIEWS else []
        return [*views, *stale_signatures(self.manifest, self.signatures)]

    def _of_other_shapes(self) -> list[Path]:
        """List the paths that tables of other shapes would have."""
        if self.shape is Shape.VIEWS:
            return [self.target, report_path(self.target), *part_paths(self.target)]
        listed = [file for file in listed_tables(self.target) if file not in self.tables]
        return [self.target, *listed] if self.shape is Shape.TWO_TABLES else listed


def stale_signatures(manifest: Path, signatures: list[Path]) -> list[Path]:
    """List the signature of an earlier manifest if this one is not signed."""
    found = signature_path(manifest)
    return [found] if found.is_file() and found not in signatures else []
