import type { Wire } from "../wires/wire.ts"

interface Props {
  readonly wires: readonly Wire[]
  readonly chosen: Wire
  readonly choose: (wire: Wire) => void
}

/** A button for each wire. */
export function WireChoice({ wires, chosen, choose }: Props) {
  return (
    <fieldset className="wires">
      <legend>Transport</legend>
      {wires.map((wire) => (
        <label key={wire.id}>
          <input type="radio" name="wire" value={wire.id} checked={wire.id === chosen.id}
            onChange={() => choose(wire)} />
          <span>{wire.name}</span>
        </label>
      ))}
    </fieldset>
  )
}
