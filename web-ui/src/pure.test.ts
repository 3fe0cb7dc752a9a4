import { describe, expect, test } from "vitest";
import type { Checkpoint } from "./api/types";
import { meaningOf, mentionedSkills, offered, offeredSkills } from "./composer/commands";
import { dollars, tokens, when, writeFiguresAs } from "./numbers";
import { rowsOf } from "./timeline/rows";

describe("what the composer's text means (SPEC §11)", () => {
  test.each([
    ["/compact", { kind: "command", name: "compact", rest: "" }],
    ["  /compact the tests \n", { kind: "command", name: "compact", rest: "the tests" }],
    ["/no-such", { kind: "command", name: "no-such", rest: "" }],
    ["/compact\nmore", { kind: "command", name: "compact", rest: "more" }],
    ["Explain /compact", { kind: "prompt", text: "Explain /compact" }],
    ["/usr/bin/x crashes", { kind: "prompt", text: "/usr/bin/x crashes" }],
    ["/Compact", { kind: "prompt", text: "/Compact" }],
    ["/compact2", { kind: "prompt", text: "/compact2" }],
    ["//compact", { kind: "prompt", text: "/compact" }],
    ["/", { kind: "prompt", text: "/" }],
    ["", { kind: "prompt", text: "" }],
  ])("%j", (text, meaning) => expect(meaningOf(text)).toEqual(meaning));

  test.each([
    ["/", ["compact", "restore", "new"]],
    ["/c", ["compact"]],
    ["/compact", ["compact"]],
    ["/compact ", []],
    ["/compactx", []],
    [" /", []],
    ["a /", []],
    ["", []],
  ])("menu of %j", (text, names) => expect(offered(text)).toEqual(names));
});

test.each([
  ["use $review here", ["review"]],
  ["$review $deploy $review", ["review", "deploy"]],
  ["$HOME stays, $other too, a$review", []],
  ["", []],
])("skills of %j", (text, names) => expect(mentionedSkills(text, ["deploy", "review"])).toEqual(names));

test.each([
  ["$", ["deploy", "review"]],
  ["please $re", ["review"]],
  ["$review", []],
  ["$review ", []],
  ["a$", []],
])("skills offered for %j", (text, names) =>
  expect(offeredSkills(text, ["deploy", "review"])).toEqual(names),
);

test("a compaction stands behind the messages that were there", () => {
  const at = (id: string, historyMessageCount: number) => ({ id, historyMessageCount }) as Checkpoint;
  const shown = rowsOf(4, [at("a", 2), at("b", 2), at("c", 9)]).map((row) =>
    row.kind === "message" ? row.index : row.checkpoint.id,
  );
  expect(shown).toEqual([0, 1, "a", "b", 2, 3, "c"]);
});

test.each([
  [0, "0"],
  [999, "999"],
  [1000, "1.0k"],
  [9_949, "9.9k"],
  [96_400, "96.4k"],
  [128_000, "128k"],
  [1_234_567, "1.2M"],
])("%d tokens", (count, text) => expect(tokens(count)).toBe(text));

test("figures are written as the person's language does", () => {
  writeFiguresAs("de-DE");
  expect([tokens(11_800), tokens(1_234_567), dollars(0.5)]).toEqual(["11,8k", "1,2M", "$0,500"]);
  writeFiguresAs("en");
});

describe("when a session changed", () => {
  const now = new Date(2026, 10, 30, 15, 0).getTime();
  test.each([
    [new Date(2026, 10, 30, 9, 5), "09:05"],
    [new Date(2026, 10, 29, 23, 59), "29 Nov"],
    [new Date(2025, 10, 30, 15, 0), "30 Nov 2025"],
  ])("%s", (at, shown) => {
    expect(when(at.getTime(), now, "en-GB")).toBe(shown);
  });
});
