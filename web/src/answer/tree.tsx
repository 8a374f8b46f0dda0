// A typed value as a tree; a list of objects that are alike as a table.

type Plain = Readonly<Record<string, unknown>>

export function Tree({ value }: { value: unknown }) {
  if (Array.isArray(value)) return <Items items={value} />
  if (isObject(value)) return <Members value={value} />
  return <Scalar value={value} />
}

function Items({ items }: { items: readonly unknown[] }) {
  if (items.length === 0) return <span className="faint">empty list</span>
  const columns = columnsOf(items)
  if (columns !== null) return <Rows columns={columns} rows={items as Plain[]} />
  return (
    <ul className="items">
      {items.map((item, at) => <li key={at}><Tree value={item} /></li>)}
    </ul>
  )
}

function Rows({ columns, rows }: { columns: readonly string[]; rows: readonly Plain[] }) {
  return (
    <div className="wide" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead>
          <tr>{columns.map((name) => <th key={name} scope="col">{name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {columns.map((name) => <td key={name}>{name in row && <Scalar value={row[name]} />}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Members({ value }: { value: Plain }) {
  const members = Object.entries(value)
  if (members.length === 0) return <span className="faint">empty object</span>
  return (
    <dl className="members">
      {members.map(([name, each]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd><Tree value={each} /></dd>
        </div>
      ))}
    </dl>
  )
}

function Scalar({ value }: { value: unknown }) {
  if (typeof value === "string") return <span className="as-is">{value}</span>
  return <code>{JSON.stringify(value)}</code>
}

/** Of objects that hold scalars only; else `null`. */
function columnsOf(items: readonly unknown[]): string[] | null {
  if (items.length < 2 || !items.every(isFlat)) return null
  return [...new Set(items.flatMap((item) => Object.keys(item)))]
}

function isFlat(value: unknown): value is Plain {
  return isObject(value) && Object.values(value).every((each) => typeof each !== "object" || each === null)
}

function isObject(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
