let own = "en";

/** Write figures as they are written there from now on. */
export function writeFiguresAs(locale: string) {
  own = locale;
}

function fixed(value: number, digits: number): string {
  return value.toLocaleString(own, { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** 843 · 3.1k · 96k · 1.2M, as in the command line; 3,1k where a comma is written. */
export function tokens(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${short(count / 1000)}k`;
  return `${short(count / 1_000_000)}M`;
}

function short(value: number): string {
  return fixed(value, value < 100 ? 1 : 0);
}

export function dollars(cost: number): string {
  return `$${fixed(cost, cost < 1 ? 3 : 2)}`;
}

export function clock(timestampMs: number, locale: string): string {
  return new Date(timestampMs).toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit" });
}

/** The time of something that happened today, else the day; the year only where it is another. */
export function when(timestampMs: number, nowMs: number, locale: string): string {
  const [at, now] = [new Date(timestampMs), new Date(nowMs)];
  if (at.toDateString() === now.toDateString()) return clock(timestampMs, locale);
  const year = at.getFullYear() === now.getFullYear() ? {} : { year: "numeric" as const };
  return at.toLocaleDateString(locale, { day: "numeric", month: "short", ...year });
}
