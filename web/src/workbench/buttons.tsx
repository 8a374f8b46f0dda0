import type { Run } from "../answer/use_run.ts"
import type { Conversation } from "../chat/use_conversation.ts"

/** What can be done with the form as it is. */
export function Buttons({ run, conversation }: { run: Run; conversation: Conversation }) {
  const { possible, parameters, turns } = conversation
  const anew = (change: () => void) => () => {
    run.forget()
    change()
  }
  return (
    <div className="buttons">
      {run.running ? (
        <button type="button" className="stop" onClick={run.stop}>Stop <kbd>Esc</kbd></button>
      ) : (
        <button type="submit" className="run">{parameters === null ? "Run" : "Send"} <kbd>Enter</kbd></button>
      )}
      {possible && (
        <button type="button" aria-pressed={parameters !== null} onClick={anew(conversation.toggle)}>Chat</button>
      )}
      {parameters !== null && (turns.length > 0 || run.running) && (
        <button type="button" onClick={anew(conversation.clear)}>New conversation</button>
      )}
    </div>
  )
}
