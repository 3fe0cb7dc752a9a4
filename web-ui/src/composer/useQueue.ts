import { useEffect, useRef } from "react";
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
 * Prompts typed while the session was busy, kept in this browser per session.
 *
 * The next one is sent when a run ends well; after one that failed or was cancelled they wait for
 * the person.
 */
export function useQueue(snapshot: Snapshot, send: (waiting: Waiting) => void) {
  const [queue, setQueue] = useStored<Waiting[]>(`palimpsest.queue.${snapshot.id}`, []);
  const before = useRef(snapshot.operation);

  useEffect(() => {
    const settled = before.current !== "idle" && snapshot.operation === "idle";
    before.current = snapshot.operation;
    const next = queue[0];
    if (settled && next && snapshot.outcome === "success" && !snapshot.hasPendingSave) {
      setQueue(queue.slice(1));
      send(next);
    }
  }, [snapshot.operation, snapshot.outcome, snapshot.hasPendingSave, queue, setQueue, send]);

  return {
    queue,
    add: (waiting: Waiting) => setQueue([...queue, waiting]),
    remove: (requestId: string) => setQueue(queue.filter((other) => other.requestId !== requestId)),
  };
}
