import { textOfScalar } from './yaml-data.ts';

/**
 * The contexts of an expression by their names. A context that is missing here is unknown, like `secrets` and `needs`.
 */
export type Contexts = Readonly<Record<string, unknown>>;

/** A text whose expressions have all been replaced, or the reason why one of them is unknown. */
export type ResolvedText =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unknown'; readonly why: string };

/** Marks a value that only a run on GitHub knows. */
const UNKNOWN = Symbol('unknown');

/** Replaces the expressions of a text by their values. */
export function resolveText(text: string, contexts: Contexts): ResolvedText {
  for (const [, expression = ''] of text.matchAll(EXPRESSION))
    if (evaluate(expression, contexts) === UNKNOWN) return { kind: 'unknown', why: reasonFor(expression) };
  if (text.replaceAll(EXPRESSION, '').includes('${{'))
    return { kind: 'unknown', why: 'an expression in it has no end' };
  return {
    kind: 'text',
    text: text.replaceAll(EXPRESSION, (_, inner: string) => textOfScalar(evaluate(inner, contexts))),
  };
}

/** Returns the value of a workflow's scalar that may be one whole expression; null if it is unknown. */
export function resolveValue(value: unknown, contexts: Contexts): unknown {
  if (typeof value !== 'string') return value;
  const [, whole] = /^\s*\$\{\{((?:(?!\}\}).)*)\}\}\s*$/s.exec(value) ?? [];
  if (whole !== undefined) {
    const known = evaluate(whole, contexts);
    return known === UNKNOWN ? null : known;
  }
  const resolved = resolveText(value, contexts);
  return resolved.kind === 'text' ? resolved.text : null;
}

/** Returns false only if an `if:` condition certainly does not hold. */
export function conditionMayHold(condition: unknown, contexts: Contexts): boolean {
  if (condition === undefined || condition === null) return true;
  const text = textOfScalar(condition);
  const [, inner = text] = /^\s*\$\{\{(.*)\}\}\s*$/s.exec(text) ?? [];
  const value = evaluate(inner, contexts);
  return value === UNKNOWN || isTruthy(value);
}

const EXPRESSION = /\$\{\{((?:(?!\}\}).)*)\}\}/gs;
const TOKEN =
  /\s*(?:'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)(?![\w-])|(&&|\|\||==|!=|<=|>=|[!()<>,.[\]*])|([A-Za-z_][\w-]*))/y;
const MAX_TOKENS = 200;

function reasonFor(expression: string): string {
  if (/\bsecrets\b|\bgithub\.token\b/.test(expression)) return 'it needs a secret';
  const shown = expression
    .trim()
    .replaceAll(/[^ -~]/g, '?')
    .slice(0, 60);
  return `only a run of CI knows ${shown}`;
}

type Token =
  | { readonly text: string }
  | { readonly mark: string }
  | { readonly name: string }
  | { readonly number: number };

function tokensOf(expression: string): readonly Token[] | null {
  const tokens: Token[] = [];
  const pattern = new RegExp(TOKEN);
  while (pattern.lastIndex < expression.trimEnd().length) {
    const match = pattern.exec(expression);
    if (match === null || tokens.length > MAX_TOKENS) return null;
    const [, text, number, mark, name] = match;
    if (text !== undefined) tokens.push({ text: text.replaceAll("''", "'") });
    else if (number !== undefined) tokens.push({ number: Number(number) });
    else tokens.push(mark === undefined ? { name: name ?? '' } : { mark });
  }
  return tokens;
}

/** Returns the value of an expression; UNKNOWN also for one that cannot be parsed. */
function evaluate(expression: string, contexts: Contexts): unknown {
  const tokens = tokensOf(expression);
  if (tokens === null) return UNKNOWN;
  let at = 0;
  const isNext = (mark: string): boolean => {
    const token = tokens[at];
    return token !== undefined && 'mark' in token && token.mark === mark;
  };
  const takes = (...marks: readonly string[]): string | null => {
    const found = marks.find(isNext);
    if (found !== undefined) at += 1;
    return found ?? null;
  };
  const value = either();
  return at === tokens.length ? value : UNKNOWN;

  function either(): unknown {
    let left = both();
    while (takes('||') !== null) {
      const right = both();
      left =
        left === UNKNOWN ? (right !== UNKNOWN && isTruthy(right) ? right : UNKNOWN) : isTruthy(left) ? left : right;
    }
    return left;
  }

  function both(): unknown {
    let left = compared();
    while (takes('&&') !== null) {
      const right = compared();
      left =
        left === UNKNOWN ? (right !== UNKNOWN && !isTruthy(right) ? right : UNKNOWN) : isTruthy(left) ? right : left;
    }
    return left;
  }

  function compared(): unknown {
    const left = negated();
    const operator = takes('==', '!=', '<=', '>=', '<', '>');
    if (operator === null) return left;
    const right = negated();
    if (left === UNKNOWN || right === UNKNOWN) return UNKNOWN;
    if (operator === '==' || operator === '!=') return isEqual(left, right) === (operator === '==');
    const [a, b] = [Number(left), Number(right)];
    return operator === '<' ? a < b : operator === '>' ? a > b : operator === '<=' ? a <= b : a >= b;
  }

  function negated(): unknown {
    if (takes('!') === null) return operand();
    const value = negated();
    return value === UNKNOWN ? UNKNOWN : !isTruthy(value);
  }

  function operand(): unknown {
    if (takes('(') !== null) {
      const value = either();
      return takes(')') === null ? UNKNOWN : value;
    }
    const token = tokens?.[at];
    at += 1;
    if (token === undefined || 'mark' in token) return UNKNOWN;
    if ('text' in token) return token.text;
    if ('number' in token) return token.number;
    if (takes('(') !== null) return called(token.name);
    if (token.name === 'true' || token.name === 'false') return token.name === 'true';
    if (token.name === 'null') return null;
    return within(token.name);
  }

  function called(name: string): unknown {
    const given: unknown[] = [];
    while (at < (tokens?.length ?? 0) && takes(')') === null) {
      given.push(either());
      takes(',');
    }
    return given.includes(UNKNOWN) ? UNKNOWN : resultOf(name.toLowerCase(), given);
  }

  /** Returns the value at a path of properties in a context. */
  function within(name: string): unknown {
    let value: unknown = Object.hasOwn(contexts, name) ? contexts[name] : UNKNOWN;
    // An empty context `steps` means that each step passed without outputs, so caches miss.
    const isStep = name === 'steps' && value !== UNKNOWN;
    let last: unknown = null;
    for (let mark = takes('.', '['); mark !== null; mark = takes('.', '[')) {
      const token = tokens?.[at];
      const key = mark === '[' ? either() : token !== undefined && 'name' in token ? token.name : UNKNOWN;
      if (mark === '.') at += 1;
      else takes(']');
      value = value === UNKNOWN || key === UNKNOWN ? UNKNOWN : propertyOf(value, textOfScalar(key));
      last = key;
    }
    if (isStep) return last === 'outcome' || last === 'conclusion' ? 'success' : '';
    return value === undefined ? null : value;
  }
}

function propertyOf(value: unknown, key: string): unknown {
  if (typeof value !== 'object' || value === null) return null;
  if (Object.hasOwn(value, key)) return (value as Readonly<Record<string, unknown>>)[key];
  return Object.hasOwn(value, INCOMPLETE) ? UNKNOWN : null;
}

/** The property that marks a context as incomplete, so that a missing property is unknown instead of empty. */
export const INCOMPLETE = '…';

function resultOf(name: string, [first, ...rest]: readonly unknown[]): unknown {
  const [text, part] = [textOfScalar(first).toLowerCase(), textOfScalar(rest[0]).toLowerCase()];
  switch (name) {
    case 'always':
    case 'success':
      return true;
    case 'failure':
    case 'cancelled':
      return false;
    case 'startswith':
      return text.startsWith(part);
    case 'endswith':
      return text.endsWith(part);
    case 'contains':
      return Array.isArray(first) ? first.some((item) => isEqual(item, rest[0])) : text.includes(part);
    case 'format':
      return textOfScalar(first).replaceAll(/\{(\d+)\}/g, (_, at: string) => textOfScalar(rest[Number(at)]));
    case 'fromjson':
      return parsedJson(textOfScalar(first));
    default:
      return UNKNOWN;
  }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return UNKNOWN;
  }
}

function isTruthy(value: unknown): boolean {
  return value !== false && value !== 0 && value !== '' && value !== null && value !== undefined;
}

function isEqual(a: unknown, b: unknown): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a.toLowerCase() === b.toLowerCase();
  return typeof a === typeof b ? a === b : Number(a ?? 0) === Number(b ?? 0);
}
