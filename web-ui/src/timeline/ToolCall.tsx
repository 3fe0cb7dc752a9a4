import { diffLines } from "diff";
import { useTranslation } from "react-i18next";
import type { ResultPart } from "../api/types";
import { tokens } from "../numbers";
import { Omitted } from "./Omitted";
import { useOpen } from "./useOpen";

interface Props {
  sessionId: string;
  callId: string;
  name: string;
  /** JSON text. */
  args: string;
  result: ResultPart | undefined;
  /** Of the message that holds the result. */
  index: number;
}

/** A call and its result on one line; it opens to both, an edit as the lines it changes. */
export function ToolCall({ sessionId, callId, name, args, result, index }: Props) {
  const { t } = useTranslation();
  const [open, toggle] = useOpen(callId);
  const given = parsed(args);
  const edit = editOf(given);
  const characters = result ? result.text.length + result.omittedCharacters : 0;
  const failed = !!result && result.outcome !== "success";
  return (
    <div className={`tool${result?.shown === "cleared" ? " cleared" : ""}${failed ? " failed" : ""}`}>
      <button className="tool-line" aria-expanded={open} onClick={toggle}>
        <span className="tool-name">{name}</span> <span className="tool-target">{target(given)}</span>
        <span className="tool-size">
          {failed ? `${t(`outcome.${result.outcome}`, result.outcome)} · ` : ""}
          {result ? tokens(Math.ceil(characters / 4)) : ""}
        </span>
      </button>
      {result && result.shown !== "whole" ? (
        <p className="cleared-note">{t(`timeline.${result.shown}`)}</p>
      ) : null}
      {open ? (
        <div className="tool-body">
          {edit ? <Diff before={edit.before} after={edit.after} /> : args ? <pre tabIndex={0}>{pretty(given, args)}</pre> : null}
          {result ? <pre tabIndex={0}>{result.text}</pre> : null}
          {result ? (
            <Omitted sessionId={sessionId} index={index} characters={result.omittedCharacters} />
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

function Diff({ before, after }: { before: string; after: string }) {
  return (
    <pre tabIndex={0} className="diff">
      {diffLines(before, after).map((piece, number) => (
        <span key={number} className={piece.added ? "added" : piece.removed ? "removed" : ""}>
          {piece.value.replace(/^(?=.)/gm, piece.added ? "+ " : piece.removed ? "- " : "  ")}
        </span>
      ))}
    </pre>
  );
}

type Given = Record<string, unknown>;

function parsed(args: string): Given {
  try {
    const value: unknown = JSON.parse(args);
    return typeof value === "object" && value !== null ? (value as Given) : {};
  } catch {
    return {};
  }
}

function pretty(given: Given, args: string): string {
  return Object.keys(given).length ? JSON.stringify(given, null, 2) : args;
}

const TARGETS = ["path", "file_path", "command", "pattern", "query", "url", "name"];

function target(given: Given): string {
  const found = TARGETS.map((key) => given[key]).find((value) => typeof value === "string");
  return ((found as string | undefined) ?? "").split("\n")[0]!.slice(0, 120);
}

function editOf(given: Given): { before: string; after: string } | null {
  const before = given["old_text"] ?? given["old_string"] ?? given["old_str"];
  const after = given["new_text"] ?? given["new_string"] ?? given["new_str"];
  return typeof before === "string" && typeof after === "string" ? { before, after } : null;
}
