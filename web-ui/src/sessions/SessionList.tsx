import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { SessionEntry } from "../api/types";
import { locale } from "../i18n";
import { Mark } from "../Mark";
import { when } from "../numbers";
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
        <Mark size={20} />
        <span>{cwd.split(/[\\/]/).pop()}</span>
      </p>
      <button className="create" onClick={onCreate}>
        <span aria-hidden="true">+</span> {t("sessions.new")}
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
  const { t } = useTranslation();
  const [seen] = useStored(`palimpsest.seen.${entry.id}`, 0);
  const unread = !chosen && entry.messageCount > seen;
  const changed = entry.updated ? when(entry.updated, Date.now(), locale) : t("sessions.draft");
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
          {changed}
          {entry.state === "running" ? (
            <span className="running">
              {" · "}
              {t("sessions.running")}
            </span>
          ) : null}
        </span>
      </button>
    </li>
  );
}
