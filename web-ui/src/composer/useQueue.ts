import { useCallback, useEffect, useRef } from "react";
import type { ImageBody, Snapshot } from "../api/types";
import { useStored } from "../stored";

/** A prompt that waits; its request id makes that it is sent once, from whichever tab. */
export interface Waiting {
  requestId: string;
  text: string;
  skills: string[];
  images: ImageBody[];
}

/**
 * Prompts typed while the session was busy, kept in this browser per session until they are accepted.
 *
 * The next one is sent when a run ends well; after one that failed or was cancelled, and when it was
 * refused, they wait for the person.
 */
export function useQueue(snapshot: Snapshot, post: (waiting: Waiting) => Promise<unknown>) {
  const [queue, setQueue] = useStored<Waiting[]>(`palimpsest.queue.${snapshot.id}`, []);
  const before = useRef(snapshot.operation);
  // A run may be over before its prompt's answer is read.
  const sent = useRef(new Set<string>());

  const remove = useCallback(
    (requestId: string) => setQueue((now) => now.filter((other) => other.requestId !== requestId)),
    [setQueue],
  );
  const send = useCallback(
    async (waiting: Waiting) => {
      sent.current.add(waiting.requestId);
      if (await post(waiting)) remove(waiting.requestId);
      else sent.current.delete(waiting.requestId);
    },
    [post, remove],
  );

  useEffect(() => {
    const settled = before.current !== "idle" && snapshot.operation === "idle";
    before.current = snapshot.operation;
    const next = queue.find((waiting) => !sent.current.has(waiting.requestId));
    if (settled && next && snapshot.outcome === "success" && !snapshot.hasPendingSave) send(next);
  }, [snapshot.operation, snapshot.outcome, snapshot.hasPendingSave, queue, send]);

  const add = (waiting: Waiting) => setQueue((now) => [...now, waiting]);
  return { queue, add, remove, send };
}
