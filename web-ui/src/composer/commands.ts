/** What the text of the composer is, by the rules of the command line (SPEC §11). */
export type Meaning =
  | { kind: "prompt"; text: string }
  | { kind: "command"; name: string; rest: string };

const COMMAND = /^\/([a-z-]+)(?![^\s])([\s\S]*)$/;

/** A command is a first word `/name` without a further slash; `//` sends a literal slash. */
export function meaningOf(text: string): Meaning {
  const trimmed = text.trim();
  if (trimmed.startsWith("//")) return { kind: "prompt", text: trimmed.slice(1) };
  const found = COMMAND.exec(trimmed);
  if (!found) return { kind: "prompt", text: trimmed };
  return { kind: "command", name: found[1]!, rest: found[2]!.trim() };
}

export const COMMANDS = ["compact", "restore", "new"] as const;
export type CommandName = (typeof COMMANDS)[number];

/** The commands whose name begins as what was typed so far; none once anything stands behind it. */
export function offered(text: string): readonly CommandName[] {
  const found = /^\/([a-z-]*)$/.exec(text);
  return found ? COMMANDS.filter((name) => name.startsWith(found[1]!)) : [];
}

const SKILL = /(?<!\S)\$([a-z0-9][a-z0-9-]*)(?!\S)/g;

/** The known skills that stand as `$name` in a prompt, each once, in order, as in the command line. */
export function mentionedSkills(text: string, known: readonly string[]): string[] {
  const names = [...text.matchAll(SKILL)].map((found) => found[1]!);
  return [...new Set(names)].filter((name) => known.includes(name));
}

/** The skills whose name begins as the `$word` at the end of a text. */
export function offeredSkills(text: string, known: readonly string[]): string[] {
  const found = /(?:^|\s)\$([a-z0-9-]*)$/.exec(text);
  return found ? known.filter((name) => name.startsWith(found[1]!) && name !== found[1]) : [];
}

export function isCommand(name: string): name is CommandName {
  return (COMMANDS as readonly string[]).includes(name);
}
