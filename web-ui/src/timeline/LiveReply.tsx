import { useDeferredValue } from "react";
import { useTranslation } from "react-i18next";
import type { Live } from "../api/types";
import { Markdown } from "./Markdown";
import { ToolCall } from "./ToolCall";

/** What is under way and not history yet: the reply as it comes, and the calls of its step. */
export function LiveReply({ live }: { live: Live }) {
  const { t } = useTranslation();
  const text = useDeferredValue(live.text);
  if (live.index === null && live.tools.length === 0) return null;
  return (
    <div className="row-text" aria-live="polite">
      {live.tools.map((tool) => (
        <div key={tool.callId} className="live-tool">
          <ToolCall sessionId="" callId={tool.callId} name={tool.toolName} args={tool.arguments} result={undefined} index={0} />
          <span className="pale">
            {tool.outcome ? t(`outcome.${tool.outcome}`, tool.outcome) : t("outcome.running")}
          </span>
        </div>
      ))}
      {live.thinking && !text ? <p className="pale at-work">{t("timeline.thinking")}…</p> : null}
      {text ? <Markdown text={text} /> : null}
      {live.index !== null && !text && !live.thinking ? <p className="pale at-work">{t("timeline.waiting")}</p> : null}
    </div>
  );
}
