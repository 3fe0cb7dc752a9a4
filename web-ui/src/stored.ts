import { useCallback, useRef, useSyncExternalStore } from "react";

const CHANGED = "palimpsest:stored";

/**
 * A value of this browser's storage; all tabs see the same one.
 *
 * It is changed from what stands there now, which another tab may have written; false where the
 * browser has no room for it.
 */
export function useStored<T>(key: string, initial: T): [T, (next: T | ((now: T) => T)) => boolean] {
  const subscribe = useCallback((onChange: () => void) => {
    window.addEventListener("storage", onChange);
    window.addEventListener(CHANGED, onChange);
    return () => {
      window.removeEventListener("storage", onChange);
      window.removeEventListener(CHANGED, onChange);
    };
  }, []);
  const text = useSyncExternalStore(subscribe, () => localStorage.getItem(key));
  const first = useRef(initial);
  const set = useCallback(
    (next: T | ((now: T) => T)) => {
      const value = next instanceof Function ? next(parsed(localStorage.getItem(key), first.current)) : next;
      try {
        localStorage.setItem(key, JSON.stringify(value));
      } catch {
        return false;
      }
      window.dispatchEvent(new Event(CHANGED));
      return true;
    },
    [key],
  );
  return [parsed(text, initial), set];
}

function parsed<T>(text: string | null, initial: T): T {
  if (text === null) return initial;
  try {
    return JSON.parse(text) as T;
  } catch {
    return initial;
  }
}
