"""The generated half of the sample project: record modules, their tests, their data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

COUNTRIES = ("AT", "BE", "CH", "DE", "FR", "NL")
CATEGORIES = ("books", "deposit", "food", "garden", "tools")
ORDER_STATUS = ("placed", "confirmed", "picking", "shipped", "cancelled")
SHIPMENT_STATUS = ("announced", "ordered", "confirmed", "travelling", "received", "lost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field: its kind, the arguments of its check, a good and a bad value as CSV text."""

    name: str
    kind: str
    check: str
    good: str
    bad: str
    refers: bool = False


def _key(name: str, prefix: str, digits: str = "+", *, refers: bool = False) -> Field:
    wanted = "[A-Z]" if digits == "letter" else f"[0-9]{digits}"
    good = prefix + {"letter": "A", "{2}": "07", "{4}": "1007"}.get(digits, "77")
    return Field(
        name=name, kind="key", check=f'r"{prefix}{wanted}"', good=good, bad="?7", refers=refers
    )


def _text(name: str, longest: int, good: str) -> Field:
    return Field(name=name, kind="text", check=str(longest), good=good, bad=" ")


def _choice(name: str, choices: tuple[str, ...], good: str) -> Field:
    return Field(name=name, kind="choice", check=name.upper(), good=good, bad=choices[0] + "!")


def _number(name: str, least: int, most: int, good: int) -> Field:
    check = f"{least:_}, {most:_}"
    return Field(name=name, kind="range", check=check, good=str(good), bad=str(most + 1))


def _day(name: str, good: str) -> Field:
    return Field(name=name, kind="day", check="", good=good, bad="2025-02-30")


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record: what is generated from it is a module, a test module and a CSV file."""

    name: str
    about: str
    fields: tuple[Field, ...]
    choices: tuple[tuple[str, tuple[str, ...]], ...] = ()
    row: Callable[[int], tuple[object, ...]] | None = None
    rows: int = 0
    bad_rows: tuple[str, ...] = ()
    key: bool = True

    @property
    def class_name(self) -> str:
        return self.name.title().replace("_", "")


def _product_row(n: int) -> tuple[object, ...]:
    things = "Saw Jam Crate Novel Rake Pliers Honey Atlas Spade Chisel Mustard Bottle".split()
    kinds = "tools food deposit books garden tools food books garden tools food deposit".split()
    makers = ("Alder", "Birch", "Cedar", "Dogwood", "Elm")
    place = n % len(things)
    price = 390 + (n * 737) % 9100
    return (
        f"SKU-{n + 1:04d}", f"{makers[n % 5]} {things[place]}", kinds[place], price,
        price * 6 // 10, 4 + n * 7 % 23, (6, 10, 12, 24)[n % 4], f"SUP-{n % 9 + 1:02d}",
    )  # fmt: skip


def _day_text(n: int) -> str:
    return f"2025-{1 + n * 5 % 4:02d}-{1 + n * 11 % 28:02d}"


def _supplier_row(n: int) -> tuple[object, ...]:
    name = "Nord Hansa Lille Brabant Tirol Jura Eifel Marne Veluwe".split()[n]
    return (f"SUP-{n + 1:02d}", f"{name} Trading", COUNTRIES[n % 6], 3 + n * 4, 20_000 + n * 15_000)


def _customer_row(n: int) -> tuple[object, ...]:
    name = "Holzer Dubois Peeters Jansen Moser Roth Lang Petit Visser Wolf".split()[n % 10]
    end = ("& Co", "Books", "Garden Centre", "Corner Shop")[n % 4]
    terms = (7, 14, 30, 45)[n % 4]
    return (
        f"K-{1001 + n}", f"{name} {end}", COUNTRIES[n * 5 % 6], terms,
        200_000 + n * 90_000, (n * n * 61_337) % 9_000_000,
    )  # fmt: skip


def _order_row(n: int) -> tuple[object, ...]:
    return (f"O-{2001 + n}", f"K-{1001 + n * 3 % 24}", _day_text(n), ORDER_STATUS[n * 7 % 5], "EUR")


def _line_row(n: int) -> tuple[object, ...]:
    product = _product_row(n * 5 % 48)
    return (f"O-{2001 + n // 3}", product[0], 1 + n * 3 % 8, product[3])


def _shipment_row(n: int) -> tuple[object, ...]:
    sku = f"SKU-{n * 4 % 48 + 1:04d}"
    return (f"S-{301 + n}", sku, f"WH-{'ABC'[n % 3]}", 6 + n * 6 % 30, _day_text(n + 3),
            SHIPMENT_STATUS[n % 6])  # fmt: skip


def _movement_row(n: int) -> tuple[object, ...]:
    sold = n % 5 == 2
    return (
        f"M-{9001 + n}", f"SKU-{n * 7 % 48 + 1:04d}", f"WH-{'ABC'[n % 3]}",
        -(1 + n % 4) if sold else 5 + n * 5 % 17, _day_text(n), "sale" if sold else "delivery",
    )  # fmt: skip


_SKU = _key("sku", "SKU-", "{4}")
_SKU_REF = _key("sku", "SKU-", "{4}", refers=True)
_WAREHOUSE_REF = _key("warehouse_code", "WH-", "letter", refers=True)
_CURRENCY = _choice("currency", ("EUR", "CHF"), "EUR")
_MONEY = ("CURRENCY", ("CHF", "EUR"))

RECORDS = (
    Record(
        name="product",
        about="An article: what it is, what it costs, when and from whom it is ordered again.",
        fields=(
            _SKU, _text("name", 40, "Elm Saw"), _choice("category", CATEGORIES, "tools"),
            _number("price_minor", 1, 99_999_999, 1900), _number("cost_minor", 0, 99_999_999, 1100),
            _number("reorder_point", 0, 100_000, 5), _number("reorder_quantity", 1, 100_000, 12),
            _key("supplier_code", "SUP-", "{2}", refers=True),
        ),
        choices=(("CATEGORY", CATEGORIES),), row=_product_row, rows=48,
        bad_rows=("SKU-0049,Elm Ladder,outdoor,8900,5340,2,6,SUP-04",),
    ),
    Record(
        name="supplier",
        about="Who sends goods, how long it takes and from what amount on.",
        fields=(
            _key("code", "SUP-", "{2}"), _text("name", 40, "Nord Trading"),
            _choice("country", COUNTRIES, "DE"), _number("lead_days", 0, 180, 5),
            _number("minimum_order_minor", 0, 99_999_999, 50_000),
        ),
        choices=(("COUNTRY", COUNTRIES),), row=_supplier_row, rows=9,
    ),
    Record(
        name="warehouse",
        about="A hall and how many pieces it holds (S-5).",
        fields=(
            _key("code", "WH-", "letter"), _text("name", 30, "Hall A"),
            _choice("country", COUNTRIES, "DE"), _number("capacity", 0, 1_000_000, 900),
        ),
        choices=(("COUNTRY", COUNTRIES),), rows=3,
        row=lambda n: (f"WH-{'ABC'[n]}", f"Hall {'ABC'[n]}", ("DE", "NL", "AT")[n], 900 + n * 350),
    ),
    Record(
        name="customer",
        about="Who buys, where the tax goes, and when they pay (B-4, D-1, T-1).",
        fields=(
            _key("number", "K-", "{4}"), _text("name", 40, "Holzer & Co"),
            _choice("country", COUNTRIES, "FR"), _number("terms_days", 0, 120, 14),
            _number("credit_limit_minor", 0, 999_999_999, 900_000),
            _number("revenue_minor", 0, 999_999_999, 2_100_000),
        ),
        choices=(("COUNTRY", COUNTRIES),), row=_customer_row, rows=24,
        bad_rows=("K-1025,,DE,30,200000,0",),
    ),
    Record(
        name="order",
        about="What a customer asked for; it is billed once, when it is shipped (B-1).",
        fields=(
            _key("number", "O-"), _key("customer_number", "K-", "{4}", refers=True),
            _day("placed_on", "2025-04-01"), _choice("status", ORDER_STATUS, "placed"), _CURRENCY,
        ),
        choices=(("STATUS", ORDER_STATUS), _MONEY), row=_order_row, rows=30,
    ),
    Record(
        name="order_line",
        about="One article of an order, at the price agreed.",
        fields=(
            _key("order_number", "O-", refers=True), _SKU_REF, _number("quantity", 1, 100_000, 3),
            _number("unit_price_minor", 0, 99_999_999, 1900),
        ),
        row=_line_row, rows=90, key=False,
    ),
    Record(
        name="shipment",
        about="Goods on their way from a supplier to a warehouse (S-3, S-6).",
        fields=(
            _key("number", "S-"), _SKU_REF, _WAREHOUSE_REF, _number("quantity", 1, 100_000, 24),
            _day("expected_on", "2025-05-01"), _choice("status", SHIPMENT_STATUS, "ordered"),
        ),
        choices=(("STATUS", SHIPMENT_STATUS),), row=_shipment_row, rows=36,
    ),
    Record(
        name="invoice",
        about="What was billed, to whom, and until when it is to be paid (B-3, B-7).",
        fields=(
            _key("number", "R-"), _key("order_number", "O-", refers=True),
            _key("customer_number", "K-", "{4}", refers=True), _day("issued_on", "2025-04-02"),
            _day("due_on", "2025-04-16"), _number("total_minor", 0, 999_999_999, 11_900), _CURRENCY,
        ),
        choices=(_MONEY,),
    ),
    Record(
        name="payment",
        about="Money that came in for one invoice (B-6).",
        fields=(
            _key("number", "P-"), _key("invoice_number", "R-", refers=True),
            _number("amount_minor", 1, 999_999_999, 11_900), _day("received_on", "2025-04-09"),
            _choice("method", ("transfer", "card", "cash"), "card"), _CURRENCY,
        ),
        choices=(("METHOD", ("card", "cash", "transfer")), _MONEY),
    ),
    Record(
        name="stock_movement",
        about="Pieces that came or went; stock is the sum of these and nothing else (S-1).",
        fields=(
            _key("number", "M-"), _SKU_REF, _WAREHOUSE_REF, _number("quantity", -100_000, 100_000, 8),
            _day("moved_on", "2025-03-03"), _choice("reason", ("count", "delivery", "sale"), "sale"),
        ),
        choices=(("REASON", ("count", "delivery", "loss", "return", "sale")),),
        row=_movement_row, rows=120,
    ),
)  # fmt: skip


def generated_files() -> Iterator[tuple[str, str]]:
    """Path and text of every generated file."""
    for record in RECORDS:
        yield f"depot/records/{record.name}.py", "\n".join(_module(record)) + "\n"
        yield f"tests/test_{record.name}.py", "\n".join(_tests(record)) + "\n"
        if record.row is not None:
            rows = [[field.name for field in record.fields]]
            rows += [[str(cell) for cell in record.row(n)] for n in range(record.rows)]
            plural = record.name + "s"
            yield f"data/{plural}.csv", "\n".join([*map(",".join, rows), *record.bad_rows, ""])


def _code(record: Record, field: Field) -> str:
    return f"E_{record.name}_{field.name}".upper()


def _python_type(field: Field) -> str:
    return {"range": "int", "day": "date"}.get(field.kind, "str")


def _parsed(record: Record, field: Field) -> str:
    cell = f'row["{field.name}"]'
    parser = {"range": "parse_int", "day": "parse_day"}.get(field.kind)
    return f'{parser}("{_code(record, field)}", "{field.name}", {cell})' if parser else cell


def _module(record: Record) -> Iterator[str]:
    name, fields = record.class_name, record.fields
    kinds = {field.kind for field in fields}
    helpers = sorted(
        {f"check_{kind}" for kind in kinds - {"day"}}
        | {"expect_columns"}
        | ({"parse_int"} if "range" in kinds else set())
        | ({"parse_day"} if "day" in kinds else set())
    )
    yield f'"""{record.about}"""'
    yield from ("", "from __future__ import annotations", "")
    yield "from collections.abc import Iterable, Mapping"
    yield "from dataclasses import astuple, dataclass"
    yield from (["from datetime import date"] if "day" in kinds else [])
    yield from ("", *(["from depot.errors import BookError"] if record.key else []))
    yield from ("from depot.fields import (", *(f"    {helper}," for helper in helpers), ")", "")
    columns = ", ".join(f'"{field.name}"' for field in fields)
    yield f"COLUMNS = ({columns})"
    for constant, choices in record.choices:
        members = ", ".join(f'"{choice}"' for choice in sorted(choices))
        yield f"{constant} = frozenset({{{members}}})"
    yield from (
        "",
        "",
        "@dataclass(frozen=True)",
        f"class {name}:",
        f'    """{record.about}"""',
        "",
    )
    yield from (f"    {field.name}: {_python_type(field)}" for field in fields)
    yield from ("", "    def __post_init__(self) -> None:")
    for field in fields:
        if field.kind != "day":
            subject = f'"{_code(record, field)}", "{field.name}", self.{field.name}'
            yield f"        check_{field.kind}({subject}, {field.check})"
    yield from ("", "    @classmethod")
    yield f"    def from_row(cls, row: Mapping[str, str]) -> {name}:"
    yield '        """A record from one CSV row, checked (I-2)."""'
    yield f'        expect_columns("E_{record.name.upper()}_COLUMNS", row, COLUMNS)'
    yield "        return cls("
    yield from (f"            {field.name}={_parsed(record, field)}," for field in fields)
    yield from ("        )", "", "    def to_row(self) -> dict[str, str]:")
    yield '        """The record as one CSV row, the columns in their own order."""'
    yield "        return dict(zip(COLUMNS, map(str, astuple(self)), strict=True))"
    if record.key:
        yield from _book(record)


def _book(record: Record) -> Iterator[str]:
    name, fields, key = record.class_name, record.fields, record.fields[0].name
    error = f"E_{record.name.upper()}"
    yield from ("", "", f"class {name}Book:", f'    """Looks {name} records up by {key}."""', "")
    yield f"    def __init__(self, records: Iterable[{name}]) -> None:"
    yield f"        self._records: dict[str, {name}] = {{}}"
    yield from ("        for record in records:", "            self.add(record)", "")
    yield f"    def add(self, record: {name}) -> None:"
    yield f'        """Add a record; a second one with the same {key} is refused."""'
    yield f"        if record.{key} in self._records:"
    yield f'            raise BookError("{error}_TWICE", "{key}", f"{{record.{key}}} is there already")'
    yield f"        self._records[record.{key}] = record"
    yield from ("", f"    def get(self, {key}: str) -> {name}:")
    yield f'        """The record with this {key}, or an error that names it."""'
    yield f"        if {key} not in self._records:"
    yield f'            raise BookError("{error}_UNKNOWN", "{key}", f"{{{key}}} is not there")'
    yield f"        return self._records[{key}]"
    yield from ("", f"    def all(self) -> list[{name}]:", f'        """Every record, by {key}."""')
    yield f"        return [self._records[{key}] for {key} in sorted(self._records)]"
    for field in fields:
        if field.refers:
            yield from ("", f"    def by_{field.name}(self, {field.name}: str) -> list[{name}]:")
            yield f'        """Every record of one {field.name}, by {key}."""'
            yield f"        return [one for one in self.all() if one.{field.name} == {field.name}]"


def _tests(record: Record) -> Iterator[str]:
    name, fields, key = record.class_name, record.fields, record.fields[0].name
    imported = f"{name}, {name}Book" if record.key else name
    yield from ("import unittest", "")
    yield "from depot.errors import " + ("BookError, RecordError" if record.key else "RecordError")
    yield from (f"from depot.records.{record.name} import {imported}", "", "ROW = {")
    yield from (f'    "{field.name}": "{field.good}",' for field in fields)
    yield from ("}", "", "", f"class {name}Test(unittest.TestCase):")
    yield "    def refused(self, code, /, **changes):"
    yield "        with self.assertRaises(RecordError) as caught:"
    yield f"            {name}.from_row(ROW | changes)"
    yield "        self.assertEqual(code, caught.exception.code)"
    yield from ("", "    def test_a_row_comes_back_as_it_was(self):")
    yield f"        self.assertEqual(ROW, {name}.from_row(ROW).to_row())"
    yield from ("", "    def test_i2_columns_are_exact(self):")
    yield f'        self.refused("E_{record.name.upper()}_COLUMNS", colour="red")'
    for field in fields:
        yield from ("", f"    def test_{field.name}_is_checked(self):")
        yield f'        self.refused("{_code(record, field)}", {field.name}="{field.bad}")'
    if record.key:
        yield from ("", "", f"class {name}BookTest(unittest.TestCase):")
        yield "    def test_a_record_is_found_once(self):"
        yield f"        record = {name}.from_row(ROW)"
        yield f"        book = {name}Book([record])"
        yield f"        self.assertIs(record, book.get(record.{key}))"
        yield "        self.assertEqual([record], book.all())"
        for code, action in (("TWICE", "add(record)"), ("UNKNOWN", 'get("nobody")')):
            yield "        with self.assertRaises(BookError) as caught:"
            yield f"            book.{action}"
            yield f'        self.assertEqual("E_{record.name.upper()}_{code}", caught.exception.code)'
