import tempfile
import unittest
from pathlib import Path

from depot.errors import RecordError
from depot.importer import problems, read_records
from depot.records.warehouse import Warehouse

HEADER = "code,name,country,capacity\n"


class ImporterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "warehouses.csv"

    def test_records_keep_the_order_of_the_file(self):
        self.path.write_text(HEADER + "WH-B,Hall B,DE,10\nWH-A,Hall A,AT,20\n", encoding="utf-8")
        made = read_records(self.path, Warehouse.from_row)
        self.assertEqual(["WH-B", "WH-A"], [warehouse.code for warehouse in made])

    def test_an_empty_file_is_refused(self):
        self.path.write_text("", encoding="utf-8")
        with self.assertRaises(RecordError) as caught:
            read_records(self.path, Warehouse.from_row)
        self.assertEqual("E_FILE_EMPTY", caught.exception.code)

    def test_no_problem_no_line(self):
        self.path.write_text(HEADER + "WH-A,Hall A,AT,20\n", encoding="utf-8")
        self.assertEqual([], problems([(self.path, Warehouse.from_row)]))
