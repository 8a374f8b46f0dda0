// A form for a field: every change makes a new draft.

import { useId, type ReactNode } from "react"
import { Alternative, below, emptyDraft, givenDraft, type Draft, type Path, type Problem } from "./draft.ts"
import type { Field, Member } from "./field.ts"
import { TextField } from "./text_field.tsx"

interface Props {
  readonly field: Field
  readonly draft: Draft
  readonly required: boolean
  readonly path: Path
  readonly problems: readonly Problem[]
  readonly change: (draft: Draft) => void
}

type Of<Kind extends Field["kind"]> = Props & { readonly field: Field & { readonly kind: Kind } }

interface MembersProps extends Of<"object"> {
  readonly without?: readonly string[]
}

/** The members of an object, but for those that are left out. */
export function Members({ field, draft, path, problems, change, without = [] }: MembersProps) {
  const drafts = draft as Record<string, Draft>
  return field.members
    .filter(({ name }) => !without.includes(name))
    .map((member: Member) => (
      <Asked
        key={member.name}
        field={member.field()}
        required={member.required}
        draft={drafts[member.name] ?? null}
        path={below(path, member.name)}
        problems={problems}
        change={(next) => change({ ...drafts, [member.name]: next })}
      />
    ))
}

function Asked(props: Props) {
  const { field } = props
  switch (field.kind) {
    case "text":
    case "number":
    case "json":
      return <Typed {...props} />
    case "choice":
      return <Choice {...props} field={field} />
    case "boolean":
      if (emptyDraft(field, props.required) !== "") return <Checkbox {...props} />
      return <Choice {...props} field={{ ...field, kind: "choice", values: [true, false] }} />
    case "list":
      return <List {...props} field={field} />
    case "object":
      return <Nested {...props} field={field} />
    case "union":
      return <Union {...props} field={field} />
  }
}

/** What belongs to every field: its label, what is to be said of it, and what is wrong with it. */
function useParts({ field, required, path, problems }: Props) {
  const id = useId()
  const found = problems.filter((problem) => problem.path === path)
  const usually = field.usual === null ? "optional" : `usually ${field.usual}`
  const notes = [field.description, !required && usually].filter(Boolean)
  const described = [notes.length > 0 && `${id}-about`, found.length > 0 && `${id}-wrong`].filter(Boolean).join(" ")
  return {
    id,
    note: notes.length > 0 && <span className="note" id={`${id}-about`}>{notes.join(" · ")}</span>,
    wrong: found.length > 0 && (
      <span className="wrong" id={`${id}-wrong`}>{found.map(({ message }) => message).join("; ")}</span>
    ),
    about: {
      id,
      "aria-required": required,
      ...(described && { "aria-describedby": described }),
      ...(found.length > 0 && { "aria-invalid": true as const }),
    },
  }
}

function Row({ label, parts, children }: { label: string; parts: ReturnType<typeof useParts>; children: ReactNode }) {
  return (
    <div className="field">
      <div className="asked">
        <label htmlFor={parts.id}>{label}</label>
        {parts.note}
      </div>
      {children}
      {parts.wrong}
    </div>
  )
}

function Typed(props: Props) {
  const { field, draft, change } = props
  const parts = useParts(props)
  const text = typeof draft === "string" ? draft : ""
  return (
    <Row label={field.label} parts={parts}>
      {field.kind === "number" ? (
        <input {...parts.about} inputMode={field.integer ? "numeric" : "decimal"} autoComplete="off" value={text}
          onChange={({ target }) => change(target.value)} />
      ) : (
        <TextField about={parts.about} label={field.label} text={text} code={field.kind === "json"} change={change} />
      )}
    </Row>
  )
}

function Choice(props: Of<"choice">) {
  const { field, draft, required, change } = props
  const parts = useParts(props)
  return (
    <Row label={field.label} parts={parts}>
      <select {...parts.about} value={typeof draft === "string" ? draft : ""}
        onChange={({ target }) => change(target.value)}>
        {(!required || field.nullable) && <option value="">{required ? "none" : "as usual"}</option>}
        {field.values.map((value) => (
          <option key={JSON.stringify(value)} value={JSON.stringify(value)}>{String(value)}</option>
        ))}
      </select>
    </Row>
  )
}

function Checkbox(props: Props) {
  const parts = useParts(props)
  return (
    <div className="field checkbox">
      <input {...parts.about} aria-required={undefined} type="checkbox" checked={props.draft === true}
        onChange={({ target }) => props.change(target.checked)} />
      <label htmlFor={parts.id}>{props.field.label}</label>
      {parts.note}
      {parts.wrong}
    </div>
  )
}

function Group({ props, children }: { props: Props; children: ReactNode }) {
  const parts = useParts(props)
  const { "aria-describedby": described } = parts.about
  return (
    <fieldset className="field" {...(described && { "aria-describedby": described })}>
      <legend>{props.field.label} {parts.note}</legend>
      {children}
      {parts.wrong}
    </fieldset>
  )
}

function List(props: Of<"list">) {
  const { field, draft, path, change } = props
  const items = Array.isArray(draft) ? draft : []
  const item = field.item()
  return (
    <Group props={props}>
      {items.map((each, at) => (
        <div className="item" key={at}>
          <Asked {...props} field={{ ...item, label: `${item.label || field.label} ${at + 1}` }} required
            draft={each} path={below(path, at)} change={(next) => change(items.with(at, next))} />
          <button type="button" className="small" aria-label={`Remove ${field.label} ${at + 1}`}
            onClick={() => change(items.toSpliced(at, 1))}>Remove</button>
        </div>
      ))}
      <button type="button" className="small" aria-label={`Add to ${field.label}`}
        onClick={() => change([...items, emptyDraft(item, true)])}>Add</button>
    </Group>
  )
}

function Nested(props: Of<"object">) {
  const { field, draft, required, change } = props
  const given = draft !== null
  return (
    <Group props={props}>
      {given && <Members {...props} />}
      {given && (!required || field.nullable) && (
        <button type="button" className="small" onClick={() => change(null)}>Leave out {field.label}</button>
      )}
      {!given && (
        <button type="button" className="small" onClick={() => change(givenDraft(field))}>
          Give {field.label}
        </button>
      )}
    </Group>
  )
}

function Union(props: Of<"union">) {
  const { field, draft, required, change } = props
  const parts = useParts(props)
  const at = draft instanceof Alternative ? draft.at : 0
  const option = field.options[at]
  if (option === undefined) return null
  return (
    <Group props={props}>
      <select id={parts.id} aria-label={`Kind of ${field.label}`} value={at}
        onChange={({ target }) => {
          const next = Number(target.value)
          const chosen = field.options[next]
          if (chosen !== undefined) change(new Alternative(next, emptyDraft(chosen, required)))
        }}>
        {field.options.map(({ label }, place) => <option key={place} value={place}>{label}</option>)}
      </select>
      <Asked {...props} field={{ ...option, nullable: field.nullable }}
        draft={draft instanceof Alternative ? draft.draft : draft}
        change={(next) => change(new Alternative(at, next))} />
    </Group>
  )
}
