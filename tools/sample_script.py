"""The sample session: what a person asked and what a coding agent did. Results are not here.

Later turns use names that only early results show, so a policy that forgets too eagerly is seen to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

Arguments: TypeAlias = dict[str, str]

MODEL = "scripted-agent"

SYSTEM = """\
You are a careful engineer who works in the repository in the current folder. Read before you change.
Change as little as the task needs, in the style that is there. Run the tests after each change and say
what you saw. The rules of the business stand in docs/rules.md and are never guessed."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call."""

    name: str
    arguments: Arguments


@dataclass(frozen=True, slots=True)
class Step:
    """One reply with tool calls."""

    text: str
    calls: tuple[Call, ...]


@dataclass(slots=True)
class Turn:
    """A prompt, the steps it took, the answer."""

    prompt: str
    steps: list[Step] = field(default_factory=list["Step"])
    answer: str = ""


TURNS: list[Turn] = []


def ask(prompt: str) -> None:
    TURNS.append(Turn(prompt))


def do(text: str, *calls: Call) -> None:
    TURNS[-1].steps.append(Step(text, calls))


def answer(text: str) -> None:
    TURNS[-1].answer = text


def read(path: str, first: int = 1, last: int = 0) -> Call:
    lines = {"first": str(first), "last": str(last)} if last else {}
    return Call("read_file", {"path": path, **lines})


def files(path: str) -> Call:
    return Call("list_files", {"path": path})


def grep(pattern: str, path: str = ".") -> Call:
    return Call("grep", {"pattern": pattern, "path": path})


def run(command: str) -> Call:
    return Call("run", {"command": f"python -m {command}"})


def edit(path: str, old: str, new: str) -> Call:
    return Call("edit_file", {"path": path, "old": old, "new": new})


def write(path: str, content: str) -> Call:
    return Call("write_file", {"path": path, "content": content})


# --- 1: a failing test -----------------------------------------------------------------------------

ask(
    "One test fails since we started to spread discounts over the lines. Find out why and fix the "
    "cause, not the test. Always name the rule you work on, and never change a rate or a rule "
    "without asking me."
)
do("I start with what is here and with the failure itself.", files("."), read("README.md"))
do("", run("unittest"))
do(
    "The parts of a discount add up to 399 instead of 400. The test and the code it covers:",
    read("tests/test_billing.py"),
    read("depot/billing.py"),
)
do("`bill` leaves the arithmetic to `Money.split`.", read("depot/money.py"), read("docs/rules.md"))
do(
    "D-3 says what happens to what rounding leaves over; `split` drops it. Who else relies on it?",
    grep(r"\.split\("),
    grep("E_SPLIT"),
)
do("", read("tests/test_money.py"), read("depot/discounts.py"))
do("A real invoice shows it too, I note its figures first.", run("depot bill O-2010"))
do(
    "I give the remainder away as D-3 says: the largest remainder first, then the earlier line.",
    edit(
        "depot/money.py",
        "        total = sum(shares)\n"
        "        return [Money(self.minor * share // total, self.currency) for share in shares]\n",
        "        whole = sum(shares)\n"
        "        parts = [self.minor * share // whole for share in shares]\n"
        "        remainders = [self.minor * share % whole for share in shares]\n"
        "        by_remainder = sorted(range(len(shares)), key=lambda at: (-remainders[at], at))\n"
        "        for at in by_remainder[: self.minor - sum(parts)]:\n"
        "            parts[at] += 1\n"
        "        return [Money(minor, self.currency) for minor in parts]\n",
    ),
)
do("", run("unittest tests.test_money tests.test_billing -v"))
do(
    "Green. The rule's second half, who gets the remainder, has no test yet.",
    edit(
        "tests/test_money.py",
        "    def test_d3_a_split_that_comes_out_even(self):\n",
        "    def test_d3_the_largest_remainder_gets_what_is_left_over(self):\n"
        "        self.assertEqual([Money(33), Money(32), Money(35)], Money(100).split([33, 33, 35]))\n"
        "        self.assertEqual([Money(34), Money(33), Money(33)], Money(100).split([1, 1, 1]))\n"
        "        self.assertEqual(Money(-100), total(Money(-100).split([1, 1, 1])))\n"
        "\n"
        "    def test_d3_a_split_that_comes_out_even(self):\n",
    ),
)
do("", run("unittest tests.test_money"))
do(
    "3300, 3300 and 3500 over 101 leave 68, 68 and 66: the first two get one each, not the last. My "
    "expectation was wrong, the code is right.",
    edit(
        "tests/test_money.py",
        "[Money(33), Money(32), Money(35)], Money(100).split([33, 33, 35])",
        "[Money(33), Money(33), Money(34)], Money(100).split([33, 33, 35])",
    ),
)
do("", run("unittest -v"), run("depot bill O-2010"))
answer(
    "Fixed. The cause was `Money.split` in `depot/money.py`: it rounded every part down and dropped the "
    "rest, against D-3. It now gives what is left over to the lines with the largest remainder, the "
    "earlier line first. The test that failed passes unchanged; I added "
    "`test_d3_the_largest_remainder_gets_what_is_left_over`. All tests pass."
)

# --- 2: books ---------------------------------------------------------------------------------------

ask(
    "Our German customers say that books on their invoices carry the full rate. Check it against the "
    "rules, fix it, and tell me which shipped orders in our data would be billed differently."
)
do("", grep("books"), read("depot/tax.py"))
do("The table for DE lacks `books`; T-4 wants it.", read("tests/test_tax.py"), grep("T-4"))
do(
    "Now the data: which shipped orders of German customers have books?",
    read("data/customers.csv"),
    read("data/orders.csv"),
    read("data/order_lines.csv"),
)
do("", read("data/products.csv"))
do(
    "The candidates before the change:",
    run("depot bill O-2010"),
    run("depot bill O-2020"),
    run("depot bill O-2030"),
)
do(
    "",
    edit(
        "depot/tax.py",
        '    "DE": frozenset({"food", "deposit"}),\n',
        '    "DE": frozenset({"food", "deposit", "books"}),\n',
    ),
    edit(
        "tests/test_tax.py",
        "    def test_t6_other_countries_are_export(self):\n",
        "    def test_t4_books_are_reduced_everywhere(self):\n"
        "        for country in STANDARD_PERMILLE:\n"
        "            with self.subTest(country=country):\n"
        '                self.assertEqual(rate_for(country, "food"), rate_for(country, "books"))\n'
        "\n"
        "    def test_t6_other_countries_are_export(self):\n",
    ),
)
do("", run("unittest tests.test_tax"))
do(
    "The test needs the name it uses.",
    edit(
        "tests/test_tax.py",
        "from depot.tax import EXPORT_NOTE, Rate, rate_for\n",
        "from depot.tax import EXPORT_NOTE, STANDARD_PERMILLE, Rate, rate_for\n",
    ),
)
do("", run("unittest"))
do(
    "And the same three invoices after it:",
    run("depot bill O-2010"),
    run("depot bill O-2020"),
    run("depot bill O-2030"),
)
answer(
    "You were right to ask: T-4 puts books at the reduced rate in all five countries, and "
    "`REDUCED_CATEGORIES` in `depot/tax.py` lacked them for DE only. No rate changed. The new test "
    "`test_t4_books_are_reduced_everywhere` holds the rule for every country. Of the shipped orders, "
    "O-2010, O-2020 and O-2030 are billed differently: their book lines now carry 7 % instead of 19 %."
)

# --- 3: credit notes --------------------------------------------------------------------------------

ask(
    "Those three customers were billed too much. We have no credit notes yet: build them after rule B-5. "
    "A record like the others, and a function that credits part of a bill."
)
do(
    "I look at how records are made here.",
    read("depot/records/invoice.py"),
    read("depot/records/payment.py"),
    read("depot/fields.py"),
)
do("", read("tests/test_invoice.py"), read("depot/errors.py"), grep("B-5"))
do(
    "The record first, in the form of its neighbours.",
    write(
        "depot/records/credit_note.py",
        '"""What was given back of one invoice (B-5)."""\n'
        "\n"
        "from __future__ import annotations\n"
        "\n"
        "from collections.abc import Iterable, Mapping\n"
        "from dataclasses import astuple, dataclass\n"
        "from datetime import date\n"
        "\n"
        "from depot.errors import BookError\n"
        "from depot.fields import (\n"
        "    check_choice,\n"
        "    check_key,\n"
        "    check_range,\n"
        "    expect_columns,\n"
        "    parse_day,\n"
        "    parse_int,\n"
        ")\n"
        "\n"
        'COLUMNS = ("number", "invoice_number", "amount_minor", "issued_on", "currency")\n'
        'CURRENCY = frozenset({"CHF", "EUR"})\n'
        "\n"
        "\n"
        "@dataclass(frozen=True)\n"
        "class CreditNote:\n"
        '    """What was given back of one invoice (B-5)."""\n'
        "\n"
        "    number: str\n"
        "    invoice_number: str\n"
        "    amount_minor: int\n"
        "    issued_on: date\n"
        "    currency: str\n"
        "\n"
        "    def __post_init__(self) -> None:\n"
        '        check_key("E_CREDIT_NOTE_NUMBER", "number", self.number, r"C-[0-9]+[a-z]")\n'
        '        code = "E_CREDIT_NOTE_INVOICE_NUMBER"\n'
        '        check_key(code, "invoice_number", self.invoice_number, r"R-[0-9]+")\n'
        '        code = "E_CREDIT_NOTE_AMOUNT_MINOR"\n'
        '        check_range(code, "amount_minor", self.amount_minor, 1, 999_999_999)\n'
        '        check_choice("E_CREDIT_NOTE_CURRENCY", "currency", self.currency, CURRENCY)\n'
        "\n"
        "    @classmethod\n"
        "    def from_row(cls, row: Mapping[str, str]) -> CreditNote:\n"
        '        """A record from one CSV row, checked (I-2)."""\n'
        '        expect_columns("E_CREDIT_NOTE_COLUMNS", row, COLUMNS)\n'
        '        amount = parse_int("E_CREDIT_NOTE_AMOUNT_MINOR", "amount_minor", row["amount_minor"])\n'
        '        issued_on = parse_day("E_CREDIT_NOTE_ISSUED_ON", "issued_on", row["issued_on"])\n'
        '        return cls(row["number"], row["invoice_number"], amount, issued_on, row["currency"])\n'
        "\n"
        "    def to_row(self) -> dict[str, str]:\n"
        '        """The record as one CSV row, the columns in their own order."""\n'
        "        return dict(zip(COLUMNS, map(str, astuple(self)), strict=True))\n"
        "\n"
        "\n"
        "class CreditNoteBook:\n"
        '    """Looks CreditNote records up by number."""\n'
        "\n"
        "    def __init__(self, records: Iterable[CreditNote]) -> None:\n"
        "        self._records: dict[str, CreditNote] = {}\n"
        "        for record in records:\n"
        "            self.add(record)\n"
        "\n"
        "    def add(self, record: CreditNote) -> None:\n"
        '        """Add a record; a second one with the same number is refused."""\n'
        "        if record.number in self._records:\n"
        '            text = f"{record.number} is there already"\n'
        '            raise BookError("E_CREDIT_NOTE_TWICE", "number", text)\n'
        "        self._records[record.number] = record\n"
        "\n"
        "    def by_invoice_number(self, invoice_number: str) -> list[CreditNote]:\n"
        '        """Every record of one invoice, by number."""\n'
        "        numbers = sorted(self._records)\n"
        "        notes = [self._records[number] for number in numbers]\n"
        "        return [one for one in notes if one.invoice_number == invoice_number]\n",
    ),
)
do(
    "Now the function. `Money.split` gives the exact share of a line, so that crediting a line in pieces "
    "never gives back more than the line.",
    write(
        "depot/credits.py",
        '"""Giving back part of a bill (B-5)."""\n'
        "\n"
        "from __future__ import annotations\n"
        "\n"
        "from collections.abc import Mapping, Sequence\n"
        "from datetime import date\n"
        "from string import ascii_lowercase\n"
        "\n"
        "from depot.billing import Bill\n"
        "from depot.errors import RuleError\n"
        "from depot.money import Money, total\n"
        "from depot.records.credit_note import CreditNote\n"
        "\n"
        "\n"
        "def next_number(invoice_number: str, notes: Sequence[CreditNote]) -> str:\n"
        '    """``C-`` with the invoice\'s digits and a running letter."""\n'
        '    return "C-" + invoice_number.removeprefix("O-") + ascii_lowercase[len(notes)]\n'
        "\n"
        "\n"
        "def credit(\n"
        "    bill: Bill, notes: Sequence[CreditNote], quantities: Mapping[str, int], on: date\n"
        ") -> CreditNote:\n"
        '    """Credit some pieces of some lines, each at the rate it was billed with.\n'
        "\n"
        "    Raises:\n"
        "        RuleError: B-5, more than was billed, in pieces or in all.\n"
        '    """\n'
        "    amount = Money(0, bill.currency)\n"
        "    for line in bill.lines:\n"
        "        pieces = quantities.get(line.sku, 0)\n"
        "        if pieces > line.quantity:\n"
        '            text = f"{pieces} of {line.sku} where {line.quantity} were billed"\n'
        '            raise RuleError("E_CREDIT_PIECES", "B-5", text)\n'
        "        net = line.net.split([pieces, line.quantity - pieces])[0]\n"
        "        amount = amount + net + line.rate.of(net)\n"
        "    credited = total((Money(note.amount_minor, note.currency) for note in notes), bill.currency)\n"
        "    if (credited + amount).minor > bill.total.minor:\n"
        '        raise RuleError("E_CREDIT_ABOVE", "B-5", f"{credited + amount} of {bill.total}")\n'
        "    number = next_number(bill.number, notes)\n"
        "    return CreditNote(number, bill.number, amount.minor, on, bill.currency)\n",
    ),
    write(
        "tests/test_credits.py",
        "import unittest\n"
        "from datetime import date\n"
        "\n"
        "from depot.billing import Bill, BilledLine\n"
        "from depot.credits import credit, next_number\n"
        "from depot.errors import BookError, RuleError\n"
        "from depot.money import Money\n"
        "from depot.records.credit_note import CreditNote, CreditNoteBook\n"
        "from depot.tax import Rate\n"
        "\n"
        "DAY = date(2025, 6, 3)\n"
        "SAW = BilledLine('SKU-0001', 3, Money(1000), Money(0), Rate(190))\n"
        "JAM = BilledLine('SKU-0002', 2, Money(500), Money(50), Rate(70))\n"
        "BILL = Bill('R-2041', 'O-2041', 'K-1001', DAY, DAY, (SAW, JAM), 'EUR')\n"
        "\n"
        "\n"
        "class CreditTest(unittest.TestCase):\n"
        "    def refused(self, code, *arguments):\n"
        "        with self.assertRaises(RuleError) as caught:\n"
        "            credit(*arguments)\n"
        "        self.assertEqual((code, 'B-5'), (caught.exception.code, caught.exception.field))\n"
        "\n"
        "    def test_b5_the_number_follows_the_invoice(self):\n"
        "        self.assertEqual('C-2041a', next_number('R-2041', []))\n"
        "\n"
        "    def test_b5_a_whole_line_is_credited_with_its_tax(self):\n"
        "        made = credit(BILL, [], {'SKU-0002': 2}, DAY)\n"
        "        self.assertEqual(('R-2041', 482), (made.invoice_number, made.amount_minor))\n"
        "\n"
        "    def test_b5_pieces_never_exceed_what_was_billed(self):\n"
        "        self.refused('E_CREDIT_PIECES', BILL, [], {'SKU-0001': 4}, DAY)\n"
        "\n"
        "    def test_b5_the_sum_never_exceeds_the_bill(self):\n"
        "        first = credit(BILL, [], {'SKU-0001': 3}, DAY)\n"
        "        second = {'SKU-0001': 1, 'SKU-0002': 2}\n"
        "        self.refused('E_CREDIT_ABOVE', BILL, [first], second, DAY)\n"
        "\n"
        "    def test_a_note_is_found_by_its_invoice(self):\n"
        "        note = CreditNote('C-2041a', 'R-2041', 482, DAY, 'EUR')\n"
        "        book = CreditNoteBook([note])\n"
        "        self.assertEqual([note], book.by_invoice_number('R-2041'))\n"
        "        self.assertEqual(note, CreditNote.from_row(note.to_row()))\n"
        "        with self.assertRaises(BookError):\n"
        "            book.add(note)\n",
    ),
)
do("", run("unittest tests.test_credits"))
do(
    "An invoice starts with `R-`, an order with `O-` (B-3): my prefix was the order's.",
    edit("depot/credits.py", 'removeprefix("O-")', 'removeprefix("R-")'),
)
do("", run("unittest tests.test_credits -v"))
do("", run("unittest -v"))
answer(
    "Credit notes exist: `CreditNote` and `CreditNoteBook` in `depot/records/credit_note.py`, `credit` and "
    "`next_number` in `depot/credits.py`. B-5 is held in all three parts: number, tax rate of the "
    "invoice's lines, never above what was billed (`E_CREDIT_PIECES`, `E_CREDIT_ABOVE`). Five new tests, "
    "all tests pass."
)

# --- 4: goods in transit ----------------------------------------------------------------------------

ask(
    "Purchasing complains that `depot reorder` suggests articles that are on a truck already. Look at S-3 "
    "and S-6. I want to see the list before and after."
)
do("", run("depot reorder"), read("depot/reorder.py"), grep(r"S-[36]"))
do("", read("tests/test_reorder.py"), read("depot/records/shipment.py"), read("data/shipments.csv"))
do("", read("data/stock_movements.csv"), read("depot/records/stock_movement.py"))
do(
    "`suggest` takes the shipments and never looks at them. S-6 says which count.",
    edit(
        "depot/reorder.py",
        'RESERVING = frozenset({"placed", "confirmed", "picking"})\n',
        'RESERVING = frozenset({"placed", "confirmed", "picking"})\n'
        'ON_THE_WAY = frozenset({"ordered", "confirmed", "travelling"})\n',
    ),
    edit(
        "depot/reorder.py",
        "def quantity_to_order(product: Product, available: int) -> int:\n",
        "def expected_by_sku(shipments: Iterable[Shipment]) -> dict[str, int]:\n"
        '    """What is on its way and not yet received (S-6)."""\n'
        "    expected: dict[str, int] = defaultdict(int)\n"
        "    for shipment in shipments:\n"
        "        if shipment.status in ON_THE_WAY:\n"
        "            expected[shipment.sku] += shipment.quantity\n"
        "    return dict(expected)\n"
        "\n"
        "\n"
        "def quantity_to_order(product: Product, available: int) -> int:\n",
    ),
    edit(
        "depot/reorder.py",
        "        available = stock.get(product.sku, 0) - reserved.get(product.sku, 0)\n"
        "        quantity = quantity_to_order(product, on_hand)\n",
        "        available = stock.get(product.sku, 0) - reserved.get(product.sku, 0)\n"
        "        quantity = quantity_to_order(product, available + expected.get(product.sku, 0))\n",
    ),
)
do("The last edit did not match; I read the passage again.", read("depot/reorder.py", 75, 105))
do(
    "",
    edit(
        "depot/reorder.py",
        "        quantity = quantity_to_order(product, available)\n",
        "        quantity = quantity_to_order(product, available + expected.get(product.sku, 0))\n",
    ),
    edit(
        "depot/reorder.py",
        "    reserved = reserved_by_sku(orders, lines)\n",
        "    reserved = reserved_by_sku(orders, lines)\n"
        "    expected = expected_by_sku(shipments)\n",
    ),
    edit(
        "tests/test_reorder.py",
        "    def test_s4_a_small_purchase_is_marked(self):\n",
        "    def test_s3_s6_what_is_on_its_way_counts(self):\n"
        "        for status, found in (('ordered', 0), ('confirmed', 0), ('travelling', 0), ('announced', 1), ('received', 1), ('lost', 1)):\n"
        "            with self.subTest(status=status):\n"
        "                coming = [Shipment('S-1', 'SKU-0001', 'WH-A', 6, DAY, status)]\n"
        "                made = suggest(ProductBook([SAW]), [], OrderBook([]), [], coming)\n"
        "                self.assertEqual(found, len(made))\n"
        "\n"
        "    def test_s4_a_small_purchase_is_marked(self):\n",
    ),
    edit(
        "tests/test_reorder.py",
        "from depot.records.stock_movement import StockMovement\n",
        "from depot.records.shipment import Shipment\n"
        "from depot.records.stock_movement import StockMovement\n",
    ),
)
do("", run("unittest tests.test_reorder -v"), run("depot reorder"))
do("", run("unittest -v"), run("depot stock"))
answer(
    "`suggest` in `depot/reorder.py` was handed the shipments and ignored them. It now adds what is on its "
    "way with the status ordered, confirmed or travelling (S-6), so an article is suggested only if that "
    "too leaves it at or below its reorder point (S-3). Announced goods still do not count. The test "
    "`test_s3_s6_what_is_on_its_way_counts` walks through all six statuses. All tests pass."
)

# --- 5: an explanation ------------------------------------------------------------------------------

ask(
    "A new colleague starts on Monday. Write docs/flow.md: how an order becomes an invoice and then money, "
    "with the names of the functions and the error codes on the way. One page, no more."
)
do(
    "The records on the way:",
    read("depot/records/order.py"),
    read("depot/records/order_line.py"),
    read("depot/records/customer.py"),
)
do("", read("depot/records/product.py"), read("depot/cli.py"))
do("", read("depot/records/supplier.py"), read("depot/records/warehouse.py"))
do("The tests show what is held:", read("tests/test_order.py"), read("tests/test_order_line.py"))
do("And every refusal with a rule's number:", grep("raise RuleError"), grep("raise BookError"))
do("", grep("from depot", "depot/billing.py"), grep("def ", "depot/credits.py"))
do(
    "",
    write(
        "docs/flow.md",
        "# From an order to money\n"
        "\n"
        "1. A customer orders. `Order` and its `OrderLine`s are read by `read_records`; a row that breaks a\n"
        "   field's rule is an `E_ORDER_…` or `E_ORDER_LINE_…` error.\n"
        "2. While the order is placed, confirmed or picking, its pieces are reserved: `reserved_by_sku` (S-2).\n"
        "3. When it is shipped, `bill` makes a `Bill` (B-1). Any other status is `E_BILL_STATUS`.\n"
        "   * Each line's discount rate comes from `discount_permille`: tier by revenue (D-1), campaign\n"
        "     (D-2), nothing on deposits (D-4).\n"
        "   * `_spread` adds the lines of one rate up, takes the discount of the sum with `Money.permille`\n"
        "     and gives each line its part with `Money.split`. The parts add up (D-3). No lines is\n"
        "     `E_SPLIT_EMPTY`, a negative line `E_SPLIT_NEGATIVE`.\n"
        "   * `rate_for` finds the tax of each line by country and category (T-1 to T-6); rounding is\n"
        "     `round_half_up`, once per line (B-2).\n"
        "   * `invoice_number` and `due_date` follow B-3 and B-4.\n"
        "4. What was billed too much goes back with `credit`: a `CreditNote` per occasion (B-5),\n"
        "   `E_CREDIT_PIECES` and `E_CREDIT_ABOVE` where it would be more than was billed.\n"
        "5. A `Payment` closes the rest. Currencies never mix: `E_CURRENCY_MIX` (B-6).\n",
    ),
)
do(
    "I check that every name on the page exists.",
    grep("def (bill|credit|rate_for|due_date|_spread)"),
)
answer(
    "docs/flow.md is one page: five steps from the order to the payment, each with its functions, rules and "
    "error codes. I checked the names against the code. One thing I noticed while reading `read_records` "
    "in `depot/importer.py`: it skips a bad row without a word, which I would not expect from I-1."
)

# --- 6: imports -------------------------------------------------------------------------------------

ask(
    "You are right about the import. Make it follow I-1, then clean up whatever turns up in our data."
)
do("", read("depot/importer.py"), read("tests/test_importer.py"), run("depot check"))
do(
    "`problems` can name only one error per file today. I-1 wants every bad row, with line, code and field, "
    "and nothing of the file used.",
    edit(
        "depot/importer.py",
        "        records = []\n"
        "        for row in reader:\n"
        "            try:\n"
        "                records.append(make(row))\n"
        "            except DepotError:\n"
        "                continue\n"
        "        return records\n",
        "        records = []\n"
        "        bad = []\n"
        "        for row in reader:\n"
        "            try:\n"
        "                records.append(make(row))\n"
        "            except DepotError as error:\n"
        "                bad.append(BadRow(reader.line_num, error))\n"
        "    if bad:\n"
        "        raise FileError(path.name, bad)\n"
        "    return records\n",
    ),
    edit(
        "depot/importer.py",
        "    Raises:\n        RecordError: the file is empty.\n",
        "    Raises:\n"
        "        RecordError: the file is empty.\n"
        "        FileError: I-1, at least one row is bad; nothing of the file is used.\n",
    ),
    edit(
        "depot/importer.py",
        'RecordT = TypeVar("RecordT")\n',
        'RecordT = TypeVar("RecordT")\n'
        "\n"
        "\n"
        "@dataclass(frozen=True)\n"
        "class BadRow:\n"
        '    """One row that cannot be used; ``line`` counts from 1, the header included."""\n'
        "\n"
        "    line: int\n"
        "    error: DepotError\n"
        "\n"
        "\n"
        "class FileError(DepotError):\n"
        '    """A file with bad rows; nothing of it was used (I-1)."""\n'
        "\n"
        "    def __init__(self, name: str, bad: list[BadRow]) -> None:\n"
        '        super().__init__("E_FILE_ROWS", name, f"has {len(bad)} bad rows")\n'
        "        self.bad = bad\n",
    ),
    edit(
        "depot/importer.py",
        "        except DepotError as error:\n            found.append",
        "        except FileError as error:\n"
        '            found += [f"{path.name}:{row.line}: {row.error}" for row in error.bad]\n'
        "        except DepotError as error:\n            found.append",
    ),
)
do("", run("unittest tests.test_importer"))
do(
    "",
    edit(
        "depot/importer.py",
        "from collections.abc import Callable, Iterable\n",
        "from collections.abc import Callable, Iterable\nfrom dataclasses import dataclass\n",
    ),
    edit(
        "tests/test_importer.py",
        "    def test_no_problem_no_line(self):\n",
        "    def test_i1_one_bad_row_and_nothing_is_used(self):\n"
        "        self.path.write_text(HEADER + 'WH-A,Hall A,AT,20\\nWH-b,Hall B,AT,20\\nWH-C,,AT,1\\n', encoding='utf-8')\n"
        "        with self.assertRaises(FileError) as caught:\n"
        "            read_records(self.path, Warehouse.from_row)\n"
        "        self.assertEqual([3, 4], [row.line for row in caught.exception.bad])\n"
        "        found = problems([(self.path, Warehouse.from_row)])\n"
        "        self.assertIn('warehouses.csv:3: E_WAREHOUSE_CODE: code', found[0])\n"
        "        self.assertIn('warehouses.csv:4: E_WAREHOUSE_NAME: name', found[1])\n"
        "\n"
        "    def test_no_problem_no_line(self):\n",
    ),
    edit(
        "tests/test_importer.py",
        "from depot.importer import problems, read_records\n",
        "from depot.importer import FileError, problems, read_records\n",
    ),
)
do("", run("unittest tests.test_importer -v"), run("depot check"))
do(
    "Two rows turn up. Does anything refer to them?",
    grep("K-1025|SKU-0049", "data"),
    run("depot stock"),
)
do(
    "Nothing refers to either. `outdoor` is no category of ours; a ladder is sold with the garden goods or the "
    "tools, and which one decides a campaign. I take the rows out instead of guessing, and say so.",
    edit("data/products.csv", "SKU-0049,Elm Ladder,outdoor,8900,5340,2,6,SUP-04\n", ""),
    edit("data/customers.csv", "K-1025,,DE,30,200000,0\n", ""),
)
do("", run("depot check"), run("depot stock"), run("depot reorder"))
do("", run("unittest -v"))
answer(
    "I-1 holds now: `read_records` raises `FileError` (`E_FILE_ROWS`) with every bad row, and `depot check` "
    "prints them as file:line: code: field. Two rows turned up and nothing refers to them: customer K-1025 "
    "has no name, article SKU-0049 has the category `outdoor`, which does not exist. I removed both rows; "
    "please tell me the name and the category (garden or tools), then I put them back."
)

# --- 7: aged receivables ----------------------------------------------------------------------------

ask(
    "The ladder is garden, put it back; forget the customer. Then the last big thing for 1.4: "
    "`depot aged`, the receivables by age after B-7, by customer, with credit notes and payments "
    "taken off."
)
do(
    "The article first.",
    edit(
        "data/products.csv",
        "SKU-0048,Cedar Bottle,deposit,7729,4637,11,24,SUP-03\n",
        "SKU-0048,Cedar Bottle,deposit,7729,4637,11,24,SUP-03\n"
        "SKU-0049,Elm Ladder,garden,8900,5340,2,6,SUP-04\n",
    ),
)
do("", run("depot check"), read("depot/reports.py"), grep("B-7"))
do("", read("tests/test_reports.py"), read("tests/test_payment.py"), read("tests/test_invoice.py"))
do(
    "There are no invoices in the data yet. I make four from shipped orders, with two payments and a credit "
    "note, so that the command has something to show.",
    run("depot bill O-2005"),
    run("depot bill O-2015"),
    files("data"),
)
do(
    "",
    write(
        "data/invoices.csv",
        "number,order_number,customer_number,issued_on,due_on,total_minor,currency\n"
        "R-2005,O-2005,K-1013,2025-01-07,2025-01-14,108653,EUR\n"
        "R-2010,O-2010,K-1004,2025-03-03,2025-04-17,45906,EUR\n"
        "R-2015,O-2015,K-1019,2025-02-11,2025-03-13,68617,EUR\n"
        "R-2020,O-2020,K-1010,2025-04-10,2025-04-24,54329,EUR\n",
    ),
    write(
        "data/payments.csv",
        "number,invoice_number,amount_minor,received_on,method,currency\n"
        "P-1,R-2005,100000,2025-01-20,transfer,EUR\n"
        "P-2,R-2015,68617,2025-03-10,card,EUR\n",
    ),
    write(
        "data/credit_notes.csv",
        "number,invoice_number,amount_minor,issued_on,currency\n"
        "C-2010a,R-2010,431,2025-04-22,EUR\n",
    ),
    write(
        "depot/receivables.py",
        '"""What is still open, and for how long (B-7)."""\n'
        "\n"
        "from __future__ import annotations\n"
        "\n"
        "from collections import defaultdict\n"
        "from collections.abc import Iterable\n"
        "from datetime import date\n"
        "\n"
        "from depot.money import Money\n"
        "from depot.records.credit_note import CreditNoteBook\n"
        "from depot.records.invoice import Invoice\n"
        "from depot.records.payment import PaymentBook\n"
        "\n"
        'AGES = ("not due", "1 to 30", "31 to 60", "61 to 90", "older")\n'
        "\n"
        "\n"
        "def age(due_on: date, on: date) -> str:\n"
        '    """The column an open invoice stands in, counted from its due date."""\n'
        "    days = (on - due_on).days\n"
        "    if days <= 0:\n"
        "        return AGES[0]\n"
        "    return AGES[min(4, 1 + days // 30)]\n"
        "\n"
        "\n"
        "def open_amount(invoice: Invoice, payments: PaymentBook, credits: CreditNoteBook) -> Money:\n"
        '    """The total less payments and credit notes."""\n'
        "    left = Money(invoice.total_minor, invoice.currency)\n"
        "    for payment in payments.by_invoice_number(invoice.number):\n"
        "        left = left - Money(payment.amount_minor, payment.currency)\n"
        "    for note in credits.by_invoice_number(invoice.number):\n"
        "        left = left - Money(note.amount_minor, note.currency)\n"
        "    return left\n"
        "\n"
        "\n"
        "def aged(\n"
        "    invoices: Iterable[Invoice], payments: PaymentBook, credits: CreditNoteBook, on: date\n"
        ") -> dict[str, dict[str, Money]]:\n"
        '    """Open amounts by customer and age; paid invoices leave no trace."""\n'
        "    result: dict[str, dict[str, Money]] = defaultdict(dict)\n"
        "    for invoice in invoices:\n"
        "        left = open_amount(invoice, payments, credits)\n"
        "        if left.minor > 0:\n"
        "            column = age(invoice.due_on, on)\n"
        "            before = result[invoice.customer_number].get(column, Money(0, left.currency))\n"
        "            result[invoice.customer_number][column] = before + left\n"
        "    return dict(result)\n",
    ),
    write(
        "tests/test_receivables.py",
        "import unittest\n"
        "from datetime import date, timedelta\n"
        "\n"
        "from depot.errors import RuleError\n"
        "from depot.money import Money\n"
        "from depot.receivables import age, aged, open_amount\n"
        "from depot.records.credit_note import CreditNote, CreditNoteBook\n"
        "from depot.records.invoice import Invoice\n"
        "from depot.records.payment import Payment, PaymentBook\n"
        "\n"
        "ON = date(2025, 4, 22)\n"
        "\n"
        "\n"
        "def invoice(digits, days, total_minor=1000):\n"
        "    due = ON - timedelta(days=days)\n"
        "    return Invoice(f'R-{digits}', f'O-{digits}', 'K-1001', due, due, total_minor, 'EUR')\n"
        "\n"
        "\n"
        "class ReceivablesTest(unittest.TestCase):\n"
        "    def test_b7_the_columns_start_where_the_rule_says(self):\n"
        "        cases = ((0, 'not due'), (1, '1 to 30'), (30, '1 to 30'), (31, '31 to 60'), (60, '31 to 60'), (61, '61 to 90'), (90, '61 to 90'), (91, 'older'))\n"
        "        for days, column in cases:\n"
        "            with self.subTest(days=days):\n"
        "                self.assertEqual(column, age(ON - timedelta(days=days), ON))\n"
        "\n"
        "    def test_b7_payments_and_credit_notes_are_taken_off(self):\n"
        "        paid = PaymentBook([Payment('P-1', 'R-7', 300, ON, 'card', 'EUR')])\n"
        "        credited = CreditNoteBook([CreditNote('C-7a', 'R-7', 50, ON, 'EUR')])\n"
        "        self.assertEqual(Money(650), open_amount(invoice(7, 9), paid, credited))\n"
        "\n"
        "    def test_b6_currencies_do_not_mix(self):\n"
        "        paid = PaymentBook([Payment('P-1', 'R-7', 300, ON, 'card', 'CHF')])\n"
        "        with self.assertRaises(RuleError) as caught:\n"
        "            open_amount(invoice(7, 9), paid, CreditNoteBook([]))\n"
        "        self.assertEqual('E_CURRENCY_MIX', caught.exception.code)\n"
        "\n"
        "    def test_b7_a_paid_invoice_leaves_no_trace(self):\n"
        "        paid = PaymentBook([Payment('P-1', 'R-7', 1000, ON, 'card', 'EUR')])\n"
        "        made = aged([invoice(7, 40), invoice(8, 2), invoice(9, 3)], paid, CreditNoteBook([]), ON)\n"
        "        self.assertEqual({'K-1001': {'1 to 30': Money(2000)}}, made)\n",
    ),
)
do("", run("unittest tests.test_receivables"))
do(
    "Day 30 still belongs to the first column: the count has to start at zero after the due date.",
    edit("depot/receivables.py", "1 + days // 30", "1 + (days - 1) // 30"),
)
do("", run("unittest tests.test_receivables -v"))
do(
    "Now the report and the command. `table` in `depot/reports.py` draws it; the command follows `_check`.",
    edit(
        "depot/reports.py",
        "def revenue_by_country(amounts: Iterable[tuple[str, Money]]) -> list[str]:\n",
        "def aged_report(amounts: Mapping[str, Mapping[str, Money]]) -> list[str]:\n"
        '    """Open amounts, one customer a line (B-7)."""\n'
        "    rows = [\n"
        '        [customer, *(str(columns.get(age, "")) for age in AGES)]\n'
        "        for customer, columns in sorted(amounts.items())\n"
        "    ]\n"
        '    return table(["customer", *AGES], rows, frozenset(range(1, 1 + len(AGES))))\n'
        "\n"
        "\n"
        "def revenue_by_country(amounts: Iterable[tuple[str, Money]]) -> list[str]:\n",
    ),
    edit(
        "depot/reports.py",
        "from collections.abc import Iterable, Sequence\n",
        "from collections.abc import Iterable, Mapping, Sequence\n",
    ),
    edit(
        "depot/reports.py",
        "from depot.money import Money\n",
        "from depot.money import Money\nfrom depot.receivables import AGES\n",
    ),
    edit(
        "depot/cli.py",
        "def _check() -> list[str]:\n",
        "def _aged() -> list[str]:\n"
        '    invoices = read_records(DATA / "invoices.csv", Invoice.from_row)\n'
        '    payments = PaymentBook(read_records(DATA / "payments.csv", Payment.from_row))\n'
        '    credits = CreditNoteBook(read_records(DATA / "credit_notes.csv", CreditNote.from_row))\n'
        "    return aged_report(aged(invoices, payments, credits, TODAY))\n"
        "\n"
        "\n"
        "def _check() -> list[str]:\n",
    ),
    edit(
        "depot/cli.py",
        "            case _:\n                lines = _check()\n",
        '            case "aged":\n'
        "                lines = _aged()\n"
        "            case _:\n"
        "                lines = _check()\n",
    ),
    edit(
        "depot/cli.py",
        '    commands.add_parser("check", help="read every file and say what is wrong")\n',
        '    commands.add_parser("aged", help="what is still open, by age")\n'
        '    commands.add_parser("check", help="read every file and say what is wrong")\n',
    ),
    edit(
        "depot/cli.py",
        "from depot.records.customer import Customer, CustomerBook\n",
        "from depot.receivables import aged\n"
        "from depot.records.credit_note import CreditNote, CreditNoteBook\n"
        "from depot.records.customer import Customer, CustomerBook\n"
        "from depot.records.invoice import Invoice\n",
    ),
    edit(
        "depot/cli.py",
        "from depot.records.product import Product, ProductBook\n",
        "from depot.records.payment import Payment, PaymentBook\n"
        "from depot.records.product import Product, ProductBook\n",
    ),
    edit(
        "depot/cli.py",
        "from depot.reports import bill_report, reorder_report, stock_report\n",
        "from depot.reports import aged_report, bill_report, reorder_report, stock_report\n",
    ),
    edit(
        "depot/cli.py",
        '    "stock_movements.csv": StockMovement.from_row,\n',
        '    "stock_movements.csv": StockMovement.from_row,\n'
        '    "invoices.csv": Invoice.from_row,\n'
        '    "payments.csv": Payment.from_row,\n'
        '    "credit_notes.csv": CreditNote.from_row,\n',
    ),
)
do("", run("depot aged"), run("depot check"), run("unittest"))
answer(
    "`python -m depot aged` works: one line a customer, the columns of B-7, payments and credit notes taken "
    "off, paid invoices gone. `age`, `open_amount` and `aged` stand in `depot/receivables.py`. The "
    "ladder is back as a garden article. data/invoices.csv, payments.csv and credit_notes.csv are new and "
    "checked by `depot check`. R-2005 is the one to look at: 86.53 EUR open, more than ninety days old."
)

# --- 8: the release ---------------------------------------------------------------------------------

ask(
    "Good. Get 1.4 ready: README, CHANGELOG, docs/rules.md where it no longer fits, a list of all error "
    "codes in docs/errors.md, and a last full run. Keep to what I asked at the very start."
)
do(
    "The README's table and command list as I know them from the beginning, with what is new.",
    edit(
        "README.md",
        "    python -m depot check              reads every file and says what is wrong\n",
        "    python -m depot aged               what is still open, by age\n"
        "    python -m depot check              reads every file and says what is wrong\n",
    ),
    edit(
        "README.md",
        "| `depot/billing.py` | from an order to an invoice |\n",
        "| `depot/billing.py` | from an order to an invoice |\n"
        "| `depot/credits.py` | giving back part of a bill |\n"
        "| `depot/receivables.py` | what is still open, and for how long |\n",
    ),
    grep(r"\bE_[A-Z_]+", "depot"),
)
do(
    "The change log names rules, as it did before.",
    read("CHANGELOG.md"),
    grep(r"def test_[a-z]\d", "tests"),
)
do(
    "",
    edit(
        "CHANGELOG.md",
        "* Discounts are spread over the lines of an invoice instead of being a line of their own (D-3).\n",
        "* Discounts are spread over the lines of an invoice instead of being a line of their own, and the\n"
        "  parts add up to the minor unit: `Money.split` gives the rest to the largest remainder (D-3).\n"
        "* Books carry the reduced rate in Germany too (T-4).\n"
        "* Credit notes: `credit` gives back part of a bill (B-5).\n"
        "* `depot reorder` counts what is on its way (S-3, S-6).\n"
        "* A file with a bad row is refused whole, and every bad row is named (I-1).\n"
        "* `depot aged` shows what is still open, by age (B-7).\n",
    ),
    write(
        "docs/errors.md",
        "# Error codes\n"
        "\n"
        "`E_<RECORD>_<FIELD>` is a field that breaks its own rule, `E_<RECORD>_COLUMNS` a row with other\n"
        "columns, `E_<RECORD>_TWICE` and `E_<RECORD>_UNKNOWN` a key that is there twice or not at all. The\n"
        "others:\n"
        "\n"
        "| code | rule | raised by |\n"
        "| --- | --- | --- |\n"
        "| `E_BILL_STATUS` | B-1 | `bill` |\n"
        "| `E_CREDIT_ABOVE` | B-5 | `credit` |\n"
        "| `E_CREDIT_PIECES` | B-5 | `credit` |\n"
        "| `E_CURRENCY` | B-6 | `Money` |\n"
        "| `E_CURRENCY_MIX` | B-6 | `Money` |\n"
        "| `E_FILE_EMPTY` | I-1 | `read_records` |\n"
        "| `E_FILE_ROWS` | I-1 | `read_records` |\n"
        "| `E_SPLIT_EMPTY` | D-3 | `Money.split` |\n"
        "| `E_SPLIT_NEGATIVE` | D-3 | `Money.split` |\n",
    ),
)
do(
    "`E_SPLIT_NEGATIVE` and `E_CURRENCY` are the two codes without a test.",
    grep("E_SPLIT_NEGATIVE|E_CURRENCY\\b", "tests"),
    edit(
        "tests/test_money.py",
        '        self.assertEqual("E_SPLIT_EMPTY", caught.exception.code)\n',
        '        self.assertEqual("E_SPLIT_EMPTY", caught.exception.code)\n'
        "        with self.assertRaises(RuleError) as caught:\n"
        "            Money(10).split([3, -1])\n"
        '        self.assertEqual("E_SPLIT_NEGATIVE", caught.exception.code)\n',
    ),
    edit(
        "tests/test_money.py",
        "    def test_b6_currencies_do_not_mix(self):\n",
        "    def test_b6_an_unknown_currency_is_refused(self):\n"
        "        with self.assertRaises(RuleError) as caught:\n"
        '            Money(1, "XXX")\n'
        '        self.assertEqual("E_CURRENCY", caught.exception.code)\n'
        "\n"
        "    def test_b6_currencies_do_not_mix(self):\n",
    ),
)
do("", run("unittest tests.test_money -v"))
do(
    "Every command once more, and the full run.",
    run("depot check"),
    run("depot aged"),
    run("depot reorder"),
)
do("", run("unittest -v"))
do("A last look at what a reader will see.", files("."), read("README.md"), read("docs/flow.md"))
do("", read("depot/importer.py"), read("depot/reorder.py"), read("depot/reports.py"))
answer(
    "1.4 is ready. README and CHANGELOG name what is new, docs/errors.md lists the nine codes beyond the "
    "records' own, and the two that had no test (`E_SPLIT_NEGATIVE`, `E_CURRENCY`) have one. docs/rules.md "
    "needed no change: every fix brought the code to the rules, and as you asked at the start I changed "
    "no rate and no rule. `round_half_up`, the tiers and `CEILING_PERMILLE` are as they were. All tests "
    "pass, `depot check` finds nothing."
)
