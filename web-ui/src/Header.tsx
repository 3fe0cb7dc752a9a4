import { useState } from "react";
import { useTranslation } from "react-i18next";
import { api, ask } from "./api/client";
import type { PermissionPreset, Snapshot } from "./api/types";
import { percent, Ring } from "./context/Ring";
import { useCommand } from "./useCommand";

const PRESETS: readonly PermissionPreset[] = ["read-only", "workspace-write", "full-access"];

interface Props {
  snapshot: Snapshot;
  /** What the list calls it. */
  listed: string;
  connected: boolean;
  panelOpen: boolean;
  onPanel(): void;
}

/** Title, model and permissions of a session, and what stands in the way of working with it. */
export function Header({ snapshot, listed, connected, panelOpen, onPanel }: Props) {
  const { t } = useTranslation();
  const { run, problem } = useCommand();
  const params = { path: { session_id: snapshot.id } };
  const locked = snapshot.operation !== "idle" || snapshot.readOnly;

  return (
    <header className="session-header">
      <Editable
        name="title"
        label={t("header.title")}
        value={snapshot.title}
        placeholder={listed || t("sessions.untitled")}
        disabled={locked}
        onChange={(title) =>
          run(() => ask(api.PUT("/api/sessions/{session_id}/title", { params, body: { title } })))
        }
      />
      <Editable
        name="model"
        label={t("header.model")}
        value={snapshot.model}
        placeholder=""
        disabled={locked}
        onChange={(model) =>
          run(() => ask(api.PUT("/api/sessions/{session_id}/model", { params, body: { model } })))
        }
      />
      <label className="permission">
        <span className="visually-hidden">{t("header.permission")}</span>
        <select
          value={snapshot.permissionPreset}
          disabled={locked}
          onChange={(event) => {
            const preset = event.target.value as PermissionPreset;
            run(() =>
              ask(api.PUT("/api/sessions/{session_id}/permission", { params, body: { preset } })),
            );
          }}
        >
          {PRESETS.map((preset) => (
            <option key={preset} value={preset}>
              {t(`permission.${preset}`)}
            </option>
          ))}
        </select>
      </label>
      <button
        className="quiet panel-toggle"
        aria-expanded={panelOpen}
        aria-label={`${t("context.toggle")}: ${percent(snapshot.contextBudget)} %`}
        onClick={onPanel}
      >
        <Ring state={snapshot.contextBudget} size={20} />
        <span>{percent(snapshot.contextBudget)} %</span>
      </button>
      {problem ? (
        <p className="notice wide" role="alert">
          {problem}
        </p>
      ) : null}
      {snapshot.readOnly ? (
        <p className="notice wide">
          {t("header.readOnly")}{" "}
          <button
            // Whatever writes takes the session over, once it is free; this one changes nothing.
            onClick={() => run(() => ask(api.POST("/api/sessions/{session_id}/flush", { params })))}
          >
            {t("header.take")}
          </button>
        </p>
      ) : null}
      {!connected ? (
        <p className="notice wide" role="status">
          {t("header.disconnected")}
        </p>
      ) : null}
      {snapshot.hasPendingSave ? (
        <p className="notice wide" role="alert">
          {t("header.pending")}{" "}
          <button
            onClick={() => run(() => ask(api.POST("/api/sessions/{session_id}/flush", { params })))}
          >
            {t("header.flush")}
          </button>
        </p>
      ) : null}
    </header>
  );
}

interface EditableProps {
  name: "title" | "model";
  label: string;
  value: string;
  placeholder: string;
  disabled: boolean;
  onChange(value: string): void;
}

/** A text that is changed in place: Enter or leaving takes it, Escape leaves it as it was. */
function Editable({ name, label, value, placeholder, disabled, onChange }: EditableProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const take = () => {
    if (draft !== null && draft !== value) onChange(draft);
    setDraft(null);
  };
  return (
    <input
      className={`editable ${name}`}
      aria-label={label}
      value={draft ?? value}
      placeholder={placeholder}
      disabled={disabled}
      maxLength={500}
      onChange={(event) => setDraft(event.target.value)}
      onBlur={take}
      onKeyDown={(event) => {
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") setDraft(null);
      }}
    />
  );
}
