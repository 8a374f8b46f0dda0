// Markdown as elements of the page. Nothing becomes HTML: tags stay the text that they are, pictures are links, and
// only addresses that lead out of the page are links at all.

import { Lexer, type Token, type Tokens } from "marked"
import { memo, useMemo, type ReactNode } from "react"
import { CopyButton } from "./copy.tsx"

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text])
  return <div className="markdown">{blocks.map((token, at) => <Piece key={at} token={token} />)}</div>
})

/** What lies deeper than anybody writes is a text as it stands: its reader, or the browser, would run out of stack. */
const TOO_DEEP = /^(?:[ \t]*>){100}/m

function blocksOf(text: string): Token[] {
  try {
    if (!TOO_DEEP.test(text)) return new Lexer({ gfm: true, breaks: true }).lex(text)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  return [{ type: "html", block: true, pre: false, raw: text, text }]
}

/** A paragraph that has not changed is not drawn again. */
const Piece = memo(
  ({ token }: { token: Token }) => element(token as Tokens.Generic),
  (before, after) => before.token.raw === after.token.raw && before.token.type === after.token.type,
)

const all = (tokens: readonly Token[] = []): ReactNode =>
  tokens.map((token, at) => <Inner key={at} token={token} />)

const Inner = ({ token }: { token: Token }) => element(token as Tokens.Generic)

const DRAW: Readonly<Record<string, (token: Tokens.Generic) => ReactNode>> = {
  space: () => null,
  def: ({ raw }) => <p>{raw}</p>,
  hr: () => <hr />,
  br: () => <br />,
  paragraph: ({ tokens }) => <p>{all(tokens)}</p>,
  heading: ({ tokens, depth }) => <Heading depth={Number(depth)}>{all(tokens)}</Heading>,
  blockquote: ({ tokens }) => <blockquote>{all(tokens)}</blockquote>,
  code: ({ text, lang }) => <CodeBlock code={String(text)} language={String(lang ?? "")} />,
  list: (token) => <List list={token as Tokens.List} />,
  table: (token) => <Table table={token as Tokens.Table} />,
  checkbox: ({ checked }) => <input type="checkbox" checked={Boolean(checked)} readOnly disabled aria-label="done" />,
  codespan: ({ text }) => <code>{text}</code>,
  strong: ({ tokens }) => <strong>{all(tokens)}</strong>,
  em: ({ tokens }) => <em>{all(tokens)}</em>,
  del: ({ tokens }) => <del>{all(tokens)}</del>,
  escape: ({ text }) => text,
  link: ({ href, tokens }) => <Link href={String(href)}>{all(tokens)}</Link>,
  image: ({ href, text }) => <Link href={String(href)}>{text || "picture"}</Link>,
  text: ({ text, tokens }) => (tokens ? all(tokens) : text),
  html: ({ text, block }) => (block ? <p className="as-is">{text}</p> : text),
}

function element(token: Tokens.Generic): ReactNode {
  return DRAW[token.type]?.(token) ?? token.raw
}

/** A level lower than written: the page has headings of its own. */
function Heading({ depth, children }: { depth: number; children: ReactNode }) {
  const Level = `h${Math.min(depth + 2, 6)}` as "h3" | "h4" | "h5" | "h6"
  return <Level>{children}</Level>
}

function List({ list }: { list: Tokens.List }) {
  const items = list.items.map((item, at) => <li key={at}>{all(item.tokens)}</li>)
  return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>
}

function Table({ table }: { table: Tokens.Table }) {
  return (
    <div className="wide" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead>
          <tr>{table.header.map((cell, at) => <th key={at} scope="col">{all(cell.tokens)}</th>)}</tr>
        </thead>
        <tbody>
          {table.rows.map((row, at) => (
            <tr key={at}>{row.map((cell, place) => <td key={place}>{all(cell.tokens)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

export function CodeBlock({ code, language }: { code: string; language: string }) {
  return (
    <figure className="code">
      <figcaption>
        <span>{language}</span>
        <CopyButton text={code} />
      </figcaption>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
    </figure>
  )
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  if (!/^(https?:|mailto:)/i.test(href)) return <span title={href}>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}
