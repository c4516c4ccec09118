import { data, Evaluator, Lexer, Parser } from '@actions/expressions';

/** The data that expressions can name, by context. */
export type Contexts = Readonly<Record<string, unknown>>;

/** The status of the job, for `success()`, `failure()` and similar functions. */
export type JobStatus = 'success' | 'failure';

/** Functions of texts that the machine implements, such as `hashFiles`. */
export type TextFunctions = Readonly<Record<string, (...texts: readonly string[]) => string>>;

/** An expression ends at the first `}}` that is not in a string. */
const EXPRESSION = /\$\{\{((?:'(?:[^']|'')*'|[^'])*?)\}\}/g;

/**
 * Returns the text with its expressions evaluated; throws for one that cannot be parsed or that names an unknown value.
 */
export function interpolate(text: string, contexts: Contexts): string {
  if (text.replace(EXPRESSION, '').includes('${{')) throw new Error(`An expression is not closed: ${text}`);
  return text.replace(EXPRESSION, (_, expression: string) =>
    evaluate(expression, contexts, { status: 'success', functions: {} }).coerceString(),
  );
}

/** True if an `if:` lets a job or step start, by the rules of the runner. */
export function isConditionTrue(
  condition: string,
  contexts: Contexts,
  { status, functions = {} }: { readonly status: JobStatus; readonly functions?: TextFunctions },
): boolean {
  const expression = conditionOf(condition.trim(), contexts);
  const asksForStatus = /\b(?:success|failure|cancelled|always)\s*\(/.test(expression.replace(/'(?:[^']|'')*'/g, ''));
  const isFalsy = evaluate(`!(${expression})`, contexts, { status, functions });
  return isFalsy.coerceString() === 'false' && (asksForStatus || status === 'success');
}

/**
 * Returns the expression of a condition, with or without its `${{ }}`. A condition with other text around it is a text,
 * which is true unless it is empty.
 */
function conditionOf(condition: string, contexts: Contexts): string {
  if (condition === '') return 'true';
  const [first, ...more] = [...condition.matchAll(EXPRESSION)];
  if (first === undefined) return condition;
  if (more.length === 0 && first[0] === condition) return first[1] ?? '';
  return interpolate(condition, contexts) === '' ? 'false' : 'true';
}

function evaluate(
  expression: string,
  contexts: Contexts,
  known: { readonly status: JobStatus; readonly functions: TextFunctions },
): data.ExpressionData {
  const functions = [...statusFunctions(known.status), ...textFunctions(known.functions)];
  const names = Object.keys(contexts);
  const parsed = new Parser(new Lexer(expression).lex().tokens, names, functions).parse();
  const values = JSON.parse(JSON.stringify(contexts), data.reviver) as data.Dictionary;
  return new Evaluator(parsed, values, new Map(functions.map((one) => [one.name.toLowerCase(), one]))).evaluate();
}

interface KnownFunction {
  readonly name: string;
  readonly minArgs: number;
  readonly maxArgs: number;
  readonly call: (...values: data.ExpressionData[]) => data.ExpressionData;
}

function* textFunctions(functions: TextFunctions): Iterable<KnownFunction> {
  for (const [name, answer] of Object.entries(functions))
    yield {
      name,
      minArgs: 1,
      maxArgs: 255,
      call: (...values) => new data.StringData(answer(...values.map((value) => value.coerceString()))),
    };
}

function* statusFunctions(status: JobStatus): Iterable<KnownFunction> {
  const answers = { success: status === 'success', failure: status === 'failure', cancelled: false, always: true };
  for (const [name, answer] of Object.entries(answers))
    yield { name, minArgs: 0, maxArgs: 0, call: () => new data.BooleanData(answer) };
}
