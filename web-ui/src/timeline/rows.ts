import type { Checkpoint } from "../api/types";

/** What stands in the timeline: messages by their index, and each compaction where it happened. */
export type Row =
  | { kind: "message"; index: number }
  | { kind: "compaction"; checkpoint: Checkpoint };

/** Give the rows of a history; a compaction stands behind the messages that were there. */
export function rowsOf(total: number, checkpoints: readonly Checkpoint[]): Row[] {
  const rows: Row[] = [];
  let next = 0;
  for (const checkpoint of checkpoints) {
    while (next < Math.min(checkpoint.historyMessageCount, total)) {
      rows.push({ kind: "message", index: next++ });
    }
    rows.push({ kind: "compaction", checkpoint });
  }
  while (next < total) rows.push({ kind: "message", index: next++ });
  return rows;
}
