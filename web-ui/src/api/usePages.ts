import { useCallback, useEffect, useRef, useState } from "react";
import { api, ask } from "./client";
import type { Original } from "./types";

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
 * @param version loaded pages are read anew when it changes, and stay shown meanwhile.
 */
export function usePages(sessionId: string, total: number, version: number): Pages {
  const [pages, setPages] = useState<ReadonlyMap<number, Original[]>>(new Map());
  const [failures, setFailures] = useState(0);
  const asked = useRef(new Map<number, string>());
  const wanted = useRef<[number, number]>([Math.max(0, total - PAGE), total]);

  useEffect(() => {
    setPages(new Map());
    asked.current = new Map();
  }, [sessionId]);

  const load = useCallback(
    (start: number, stop: number) => {
      for (let page = Math.floor(start / PAGE); page * PAGE < Math.min(stop, total); page++) {
        const before = Math.min((page + 1) * PAGE, total);
        const state = `${before}:${version}`;
        if (asked.current.get(page) === state) continue;
        asked.current.set(page, state);
        const query = { before, limit: before - page * PAGE };
        const path = { session_id: sessionId };
        ask(api.GET("/api/sessions/{session_id}/messages", { params: { path, query } })).then(
          (answer) => {
            // Of two answers that overtook one another, the one that was asked for last stays.
            if (asked.current.get(page) === state) setPages((known) => new Map(known).set(page, answer.messages));
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

  const get = useCallback((index: number) => pages.get(Math.floor(index / PAGE))?.[index % PAGE], [pages]);
  return { get, want };
}
