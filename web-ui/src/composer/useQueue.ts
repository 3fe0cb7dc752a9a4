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
 * refused, they wait for the person: until the history has grown, whatever else succeeds meanwhile.
 */
export function useQueue(snapshot: Snapshot, post: (waiting: Waiting) => Promise<unknown>) {
  const [queue, setQueue] = useStored<Waiting[]>(`palimpsest.queue.${snapshot.id}`, []);
  const [endedBadlyAt, setEndedBadlyAt] = useStored(`palimpsest.ended-badly.${snapshot.id}`, -1);
  // One at a time, and none before the run of the one before is seen.
  const sending = useRef(false);
  const sentAt = useRef(-1);

  const remove = useCallback(
    (requestId: string) => setQueue((now) => now.filter((other) => other.requestId !== requestId)),
    [setQueue],
  );
  const send = useCallback(
    async (waiting: Waiting) => {
      sending.current = true;
      const accepted = await post(waiting);
      sending.current = false;
      if (accepted) remove(waiting.requestId);
    },
    [post, remove],
  );

  const { operation, outcome, hasPendingSave, messageCount } = snapshot;
  const endedBadly = operation === "idle" && (outcome === "error" || outcome === "cancelled");
  useEffect(() => {
    if (endedBadly) setEndedBadlyAt(messageCount);
  }, [endedBadly, messageCount, setEndedBadlyAt]);
  useEffect(() => {
    const next = queue[0];
    const isDone =
      operation === "idle" && outcome === "success" && !hasPendingSave && messageCount > endedBadlyAt;
    if (!next || !isDone || sending.current || messageCount <= sentAt.current) return;
    sentAt.current = messageCount;
    send(next);
  }, [operation, outcome, hasPendingSave, messageCount, endedBadlyAt, queue, send]);

  const add = (waiting: Waiting) => setQueue((now) => [...now, waiting]);
  return { queue, add, remove, send };
}
