import { api, ApiError, ask } from "./client";
import type { SessionEvent, Snapshot } from "./types";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;
const LOOK_MS = 5_000;

export interface Listener {
  onSnapshot(snapshot: Snapshot): void;
  onEvent(event: SessionEvent): void;
  onConnected(connected: boolean): void;
  /** Events may have been missed before the next snapshot. */
  onGap(): void;
  /** The server refused, for good: nothing is asked any more. */
  onRefused(problem: ApiError): void;
}

/**
 * Follow a session until the returned function is called.
 *
 * The browser comes back by itself after a broken connection and goes on from the last frame; after
 * an answer that is no stream it gives up, and this asks why, and opens a new one unless it was
 * refused, waiting longer each time.
 *
 * A browser holds six connections to a server at most, for all of its tabs: one that nobody looks
 * at holds none, and only looks at the session now and then.
 */
export function follow(sessionId: string, listener: Listener): () => void {
  const params = { path: { session_id: sessionId } };
  let source: EventSource | null = null;
  let timer = 0;
  let wait = FIRST_WAIT_MS;
  let ended = false;

  const open = () => {
    source = new EventSource(`/api/sessions/${sessionId}/events`);
    source.onopen = () => {
      wait = FIRST_WAIT_MS;
      listener.onConnected(true);
    };
    source.onerror = () => {
      listener.onConnected(false);
      listener.onGap();
      if (source?.readyState === EventSource.CLOSED) again();
    };
    source.addEventListener("snapshot", (frame) => listener.onSnapshot(JSON.parse(frame.data)));
    source.addEventListener("event", (frame) => listener.onEvent(JSON.parse(frame.data).event));
  };

  const again = async () => {
    await look();
    if (ended || document.hidden) return;
    timer = window.setTimeout(open, wait);
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  };

  /** Ask for the session as it is now. */
  const look = async () => {
    try {
      const snapshot = await ask(api.GET("/api/sessions/{session_id}", { params }));
      if (!ended) listener.onSnapshot(snapshot);
    } catch (error) {
      if (ended || !(error instanceof ApiError) || !error.isRefusal) return;
      stop();
      listener.onRefused(error);
    }
  };

  const lookNowAndThen = async () => {
    await look();
    if (!ended && document.hidden) timer = window.setTimeout(lookNowAndThen, LOOK_MS);
  };

  const arrange = () => {
    window.clearTimeout(timer);
    source?.close();
    source = null;
    if (document.hidden) {
      lookNowAndThen();
    } else {
      listener.onGap();
      open();
    }
  };

  const stop = () => {
    ended = true;
    window.clearTimeout(timer);
    source?.close();
    document.removeEventListener("visibilitychange", arrange);
  };

  document.addEventListener("visibilitychange", arrange);
  arrange();
  return stop;
}
