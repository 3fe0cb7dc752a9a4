import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { SessionEntry } from "../api/types";
import { useStored } from "../stored";

interface Props {
  sessions: readonly SessionEntry[];
  cwd: string;
  chosen: string;
  onChoose(id: string): void;
  onCreate(): void;
}

export function SessionList({ sessions, cwd, chosen, onChoose, onCreate }: Props) {
  const { t } = useTranslation();
  const [sought, setSought] = useState("");
  const found = sessions.filter((entry) => matches(entry, sought));
  return (
    <nav className="sessions" aria-label={t("sessions.title")}>
      <p className="project" title={cwd}>
        {cwd.split(/[\\/]/).pop()}
      </p>
      <button className="primary" onClick={onCreate}>
        {t("sessions.new")}
      </button>
      <input
        type="search"
        aria-label={t("sessions.search")}
        placeholder={t("sessions.search")}
        value={sought}
        onChange={(event) => setSought(event.target.value)}
      />
      <ul>
        {found.map((entry) => (
          <Entry key={entry.id} entry={entry} chosen={entry.id === chosen} onChoose={onChoose} />
        ))}
      </ul>
      {found.length === 0 ? <p className="pale">{t("sessions.none")}</p> : null}
    </nav>
  );
}

function matches(entry: SessionEntry, sought: string): boolean {
  const words = sought.toLowerCase().split(/\s+/);
  const text = `${entry.title} ${entry.id}`.toLowerCase();
  return words.every((word) => text.includes(word));
}

interface EntryProps {
  entry: SessionEntry;
  chosen: boolean;
  onChoose(id: string): void;
}

function Entry({ entry, chosen, onChoose }: EntryProps) {
  const { t, i18n } = useTranslation();
  const [seen] = useStored(`palimpsest.seen.${entry.id}`, 0);
  const unread = !chosen && entry.messageCount > seen;
  const when = entry.updated
    ? new Date(entry.updated).toLocaleString(i18n.language, { dateStyle: "short", timeStyle: "short" })
    : t("sessions.draft");
  if (entry.state === "broken") {
    return (
      <li className="entry broken" title={entry.reason}>
        <span className="entry-title">{entry.id.slice(0, 8)}</span>
        <span className="pale">{t("sessions.broken")}</span>
      </li>
    );
  }
  return (
    <li>
      <button
        className="entry"
        aria-current={chosen ? "page" : undefined}
        onClick={() => onChoose(entry.id)}
      >
        <span className="entry-title">
          {unread ? <span className="unread" role="img" aria-label={t("sessions.unread")} /> : null}
          {entry.title || t("sessions.untitled")}
        </span>
        <span className="pale">
          {when}
          {entry.state === "running" ? ` · ${t("sessions.running")}` : ""}
        </span>
      </button>
    </li>
  );
}
