import { useCallback, useEffect, useRef, useState } from "react";
import { api, ask } from "./client";
import type { Original, Originals } from "./types";

export const PAGE = 100;
const AGAIN_MS = 2_000;

export interface Pages {
  get(index: number): Original | undefined;
  /** Load the pages of the messages `start <= index < stop` that are not there yet. */
  want(start: number, stop: number): void;
}

/**
 * Originals of a session by their index, read page by page.
 *
 * @param newest the page at the end, which was read before; it is not asked for again.
 * @param version loaded pages are read anew when it changes, and stay shown meanwhile.
 */
export function usePages(
  sessionId: string,
  newest: Originals | null,
  total: number,
  version: number,
): Pages {
  const [messages, setMessages] = useState<ReadonlyMap<number, Original>>(new Map());
  const [failures, setFailures] = useState(0);
  const asked = useRef(new Map<number, string>());
  const wanted = useRef<[number, number]>([0, 0]);

  useEffect(() => {
    if (!newest) return;
    setMessages((known) => withAll(known, newest.messages));
    const last = Math.floor((newest.total - 1) / PAGE);
    asked.current.set(last, stateOf(last, newest.total, 0));
  }, [newest]);

  const load = useCallback(
    (start: number, stop: number) => {
      for (let page = Math.floor(start / PAGE); page * PAGE < Math.min(stop, total); page++) {
        const before = Math.min((page + 1) * PAGE, total);
        const state = stateOf(page, total, version);
        if (asked.current.get(page) === state) continue;
        asked.current.set(page, state);
        const query = { before, limit: before - page * PAGE };
        const path = { session_id: sessionId };
        ask(api.GET("/api/sessions/{session_id}/messages", { params: { path, query } })).then(
          (answer) => {
            // Of two answers that overtook one another, the one that was asked for last stays.
            if (asked.current.get(page) === state) setMessages((known) => withAll(known, answer.messages));
          },
          () => {
            if (asked.current.get(page) === state) asked.current.delete(page);
            window.setTimeout(() => setFailures((count) => count + 1), AGAIN_MS);
          },
        );
      }
    },
    // A failure asks again.
    [sessionId, total, version, failures],
  );

  const want = useCallback(
    (start: number, stop: number) => {
      wanted.current = [start, stop];
      load(start, stop);
    },
    [load],
  );

  useEffect(() => load(...wanted.current), [load]);

  const get = useCallback((index: number) => messages.get(index), [messages]);
  return { get, want };
}

/** What a page was asked for as: it is asked for again when it has grown, or with a new version. */
function stateOf(page: number, total: number, version: number): string {
  return `${Math.min((page + 1) * PAGE, total)}:${version}`;
}

function withAll(known: ReadonlyMap<number, Original>, more: readonly Original[]): ReadonlyMap<number, Original> {
  const all = new Map(known);
  for (const message of more) all.set(message.index, message);
  return all;
}
