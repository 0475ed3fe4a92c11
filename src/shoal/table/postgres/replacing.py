"""What a replaced table hands over to the new one, and what it could not hand over."""

from __future__ import annotations

from dataclasses import dataclass

from shoal.errors import OutputError
from shoal.table.postgres.connecting import Database, literal

_SHOWN = 5  # names in a message

# What would be lost with the table, and the query that lists the names. A release has none of them, so
# somebody added them and relies on them.
_LOST = {
    "views that depend on it": (
        "SELECT DISTINCT v.oid::regclass::text FROM pg_depend d JOIN pg_rewrite r ON r.oid = d.objid "
        "JOIN pg_class v ON v.oid = r.ev_class WHERE d.classid = 'pg_rewrite'::regclass "
        "AND d.refclassid = 'pg_class'::regclass AND d.refobjid = {oid} AND v.oid <> {oid}"
    ),
    "rules": "SELECT rulename::text FROM pg_rewrite WHERE ev_class = {oid}",
    "triggers": "SELECT tgname::text FROM pg_trigger WHERE tgrelid = {oid} AND NOT tgisinternal",
    "constraints": (
        "SELECT conname::text FROM pg_constraint WHERE (conrelid = {oid} OR confrelid = {oid}) "
        "AND contype <> 'n'"
    ),
    "columns that must not be null, or have a default": (
        "SELECT attname::text FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 "
        "AND NOT attisdropped AND (attnotnull OR atthasdef OR attidentity <> '')"
    ),
    "policies for rows": (
        "SELECT polname::text FROM pg_policy WHERE polrelid = {oid} UNION ALL "
        "SELECT 'row security' FROM pg_class WHERE oid = {oid} AND relrowsecurity"
    ),
    "tables that inherit from it, or it from them": (
        "SELECT CASE WHEN inhparent = {oid} THEN inhrelid ELSE inhparent END::regclass::text "
        "FROM pg_inherits WHERE inhparent = {oid} OR inhrelid = {oid}"
    ),
    "publications": (
        "SELECT pubname::text FROM pg_publication_rel JOIN pg_publication p ON p.oid = prpubid "
        "WHERE prrelid = {oid}"
    ),
}


def refuse_loss(database: Database, oid: int, shown: str) -> None:
    """Refuse to replace a table that has what cannot be handed over; nothing is ever dropped with CASCADE."""
    found = {what: [n for (n,) in database.rows(sql.format(oid=oid))] for what, sql in _LOST.items()}
    listed = "; ".join(
        f"{what} ({', '.join(f'`{name}`' for name in names[:_SHOWN])}{', ...' * (len(names) > _SHOWN)})"
        for what, names in found.items()
        if names
    )
    if listed:
        message = f"The table `{shown}` cannot be replaced without losing: {listed}."
        hint = "remove them first, or write to another table; let views read from a view that you replace"
        raise OutputError("output.unwritable", message, hint)


@dataclass(frozen=True)
class Kept:
    """Statements that give a table what another one had: owner, privileges, comments and indexes."""

    place: str
    owner: list[str]
    others: list[str]

    @classmethod
    def of(cls, database: Database, oid: int, place: str, staged: str) -> Kept:
        """Ask the database what a table has.

        Parameters
        ----------
        oid : int
            The table's object identifier.
        place : str
            The SQL of the name that the new table will have.
        staged : str
            The SQL of its temporary name. Only columns that it has are looked at.
        """
        name = literal(place)
        still = (
            "NOT attisdropped AND attname IN (SELECT attname FROM pg_attribute "
            f"WHERE attrelid = {literal(staged)}::regclass AND attnum > 0)"
        )

        def statements(sql: str) -> list[str]:
            return [statement for (statement,) in database.rows(sql)]

        return cls(
            place,
            statements(
                f"SELECT format('ALTER TABLE %s OWNER TO %I', {name}, pg_get_userbyid(relowner)) "
                f"FROM pg_class WHERE oid = {oid}"
            ),
            [
                *statements(
                    f"SELECT format('GRANT %s ON TABLE %s TO %s%s', privilege_type, {name}, {_GRANTEE}) "
                    "FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) "
                    f"WHERE oid = {oid}"
                ),
                *statements(
                    f"SELECT format('GRANT %s (%I) ON TABLE %s TO %s%s', privilege_type, attname, {name}, "
                    f"{_GRANTEE}) FROM pg_attribute, aclexplode(attacl) WHERE attrelid = {oid} AND {still}"
                ),
                *statements(
                    f"SELECT format('COMMENT ON TABLE %s IS %L', {name}, description) "
                    f"FROM pg_description WHERE objoid = {oid} AND classoid = 'pg_class'::regclass "
                    "AND objsubid = 0"
                ),
                *statements(
                    f"SELECT format('COMMENT ON COLUMN %s.%I IS %L', {name}, attname, description) "
                    "FROM pg_description JOIN pg_attribute ON attrelid = objoid AND attnum = objsubid "
                    f"WHERE objoid = {oid} AND classoid = 'pg_class'::regclass AND {still}"
                ),
                *statements(f"SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = {oid}"),
            ],
        )

    def hand_over(self, database: Database) -> None:
        """Give all of it to the table that has the name now, and take away what it had by default."""
        database.run(*self.owner)
        given = database.rows(
            f"SELECT DISTINCT format('REVOKE ALL ON TABLE %s FROM %s', {literal(self.place)}, "
            f"CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END) "
            "FROM pg_class, aclexplode(coalesce(relacl, acldefault('r', relowner))) "
            f"WHERE oid = {literal(self.place)}::regclass"
        )
        database.run(*(statement for (statement,) in given), *self.others)


_GRANTEE = (
    "CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, "
    "CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END"
)
