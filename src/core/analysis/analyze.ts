import { toOneLine } from '../text/phrase.ts';
import { type Analysis, findErrors, type Signal, type Transcript } from './analysis.ts';
import { type MarkedLine, markEnds, extractProse } from './markdown-code.ts';
import { findStatusBlock } from './status-block.ts';

/** The claims found as phrases in a message without a status block. */
interface Phrases {
  readonly found: boolean;
  /** 0–95: never as certain as a status block. */
  readonly confidence: number;
  readonly noWork: boolean;
  readonly testOnly: boolean;
  readonly question: boolean;
}

const NO_PHRASES: Phrases = { found: false, confidence: 0, noWork: false, testOnly: false, question: false };

/** Minimum confidence that counts as a completion indicator. */
const CONFIDENT = 60;

/** Maximum characters searched: the outcome is at the end of a message, and the limit bounds the work. */
const MAX_CHARS = 64 * 1024;

const MAX_SENTENCE_CHARS = 1_000;

const ALL = String.raw`(?:all|every|each)(?: (?:of|the|my|our|\d{1,5}|remaining|required|open|planned|requested)){0,3}`;

const WORK = String.raw`(?:tasks?|items?|stories|story|work|requirements?|features?|boxes|criteria|goals?|steps?|todos?)`;

/** Matches `in the plan`, `in fix_plan.md`. */
const PLACE = String.raw`(?: (?:in|of|on|from) (?:the |my |our |this )?(?:plan|list|queue|file|issue|project|backlog|[\w/-]{1,60}\.\w{1,8}|${'`…`'})){0,2}`;

const IS = String.raw`(?: (?:is|are|has been|have been|was|were|now|fully|successfully|all)){0,4}`;

const DONE = String.raw`(?:complete|completed|done|finished|implemented)`;

const LEFT_OVER = String.raw`(?:open|remaining|more|further|outstanding)`;

const COMPLETION: readonly RegExp[] = [
  new RegExp(String.raw`\b${ALL} ${WORK}${PLACE}${IS} ${DONE}\b`),
  new RegExp(String.raw`\b(?:i|we)(?: have|'ve)? (?:completed|finished|implemented) (?:all|everything|every)\b`),
  new RegExp(
    String.raw`\b(?:project|plan|implementation|everything|^the work|all work) (?:is|are|has been|was)${IS} ${DONE}\b`,
  ),
  new RegExp(String.raw`^(?:project|implementation|everything|all) ${DONE}\b`),
  /\bready for (?:review|merge|merging|release)\b/,
  new RegExp(
    String.raw`\bno (?:${LEFT_OVER} )?(?:tasks|work|items)(?: are| is)? (?:left|remaining|remain|remains|open)\b`,
  ),
  new RegExp(String.raw`^(?:there (?:is|are) )?no ${LEFT_OVER} (?:tasks|work|items)(?=\W*$)`),
  /^(?:the )?project(?: is)?(?: now)? ready(?=\W*$)/,
  /^(?:everything|the (?:whole )?project) is (?:now |already )?up to date(?=\W*$)/,
];

/**
 * Matches a message that is only a word such as `Done`, at which the first Ralphs stopped. As the beginning of a
 * report, such a word says nothing about the project.
 */
const LONE_DONE =
  /^[^\p{L}\p{N}?]*(?:all |i'm |i am |(?:the |my )?(?:work|task|job|feature|fix)(?: is|'s| has been)?(?: now)? )?(?:successfully )?(?:done|complete|completed|finished)(?: successfully)?[^\p{L}\p{N}?]*$/u;

const NO_WORK: readonly RegExp[] = [
  /\bnothing(?: \w{1,20})? to (?:do(?! with\b)|change|implement|fix)\b/,
  /\bno (?:code |file |further |more |additional )?changes? (?:(?:were|was|are|is) )?(?:needed|required|necessary|made)\b/,
  /\bno (?:more |further |remaining )?work (?:(?:is|was) )?(?:needed|left|remaining|required|to do)\b/,
  /\balready (?:fully )?(?:implemented|complete|completed|done|up to date|in place)\b/,
  /^(?:(?:all|all of it|everything|it all|the (?:whole )?(?:project|code|codebase)) (?:is|are) )?(?:now )?up to date(?=\W*$)/,
];

/** Matches a test run that is only intended or asked about. */
const INTENTION =
  /\?$|\b(?:will|would|should|shall|could|can|must|going to|(?:need|want|plan|try|have) to|next|please|let me|let's|if|once|when|unless|until)\b|'ll\b/;

/** Matches a condition, which makes a statement such as "nothing to do" hypothetical. */
const CONDITION = /\?$|\b(?:if|when|once|unless|until|whether|in case)\b/;

/** Matches a test run: the sentence says both that something ran and that it was tests. */
const TEST_RUN: readonly RegExp[] = [
  /\b(?:ran|run|running|runs|re-?ran|re-?running|executed|executing)(?: [\w.'/-]{1,40}){0,6} (?:tests?|test-suite|pytest|jest|vitest|mocha|bats|ctest|rspec|phpunit|tox)\b/,
  /\btests? (?:are |were )?(?:ran|run|running|executed)\b/,
];

const MAKING: readonly RegExp[] = [
  /(?<!already (?:fully )?)\b(?:added|implemented|created|wrote|built|fixed|changed|updated|refactored|modified|removed|deleted|edited|introduced|renamed|replaced|extended|rewrote|committed|documented|moved|adding|implementing|creating|writing|fixing|changing|updating|refactoring|modifying|removing|editing)\b/,
];

/** Matches other work: past forms except for those of looking and testing. */
const OTHER_WORK: readonly RegExp[] = [
  /\b(?!(?:passed|failed|skipped|executed|tested|verified|checked|confirmed|reviewed|inspected|looked|needed|expected|required|succeeded|exited|started|timed|ignored|related|existing)\b)[a-z]{2,30}ed\b/,
  /\b(?:made|wrote|built|rewrote|cut|put|set up|split|sped)\b/,
];

const STUCK: readonly RegExp[] = [
  /\b(?:i am|i'm|we are|am) (?:completely |totally )?(?:stuck|blocked)\b/,
  /\b(?:can't|cannot|can not|unable to|not able to|could not|couldn't) (?:proceed|continue|go on|make progress|complete|finish)\b/,
  /\bblocked (?:by|on)\b/,
];

const ASKING_SOMEBODY =
  /\b(?:should (?:i|we)|shall (?:i|we)|(?:can|could|may|must) (?:i|we)|do you|would you|could you|can you|will you|are you|how should|how do|where should|is it (?:ok|okay|fine|alright)|am i|want me to|prefer)\b/;

const WAITING_FOR_ANSWER: readonly RegExp[] = [
  /\bplease (?:confirm|clarify|advise|tell me|let me know|answer|decide|choose)\b/,
  /\blet me know (?:if|whether|which|how|what) (?:you|i|to)\b/,
  /\b(?:waiting|await|awaiting) (?:for )?(?:your|an? answer|confirmation|clarification|instructions|feedback)\b/,
  /\bi need (?:your|clarification|confirmation|more information)\b/,
];

/** Matches words that make a completion claim hypothetical or limited, or that attribute it to another person. */
const HEDGE = new RegExp(
  // Also matches an open box, and a count that is not complete, such as `2/10`.
  String.raw`\?\W*$|\[[^x\]]\]|\b(\d{1,6}) ?(?:/|of|out of) ?(?!\1\b)\d|\b(?:${[
    'if|once|when|until|unless|before|after|will|would|should|could|must|make sure|ensure|so that|in order to|getting|to be|want|wants|needs?|expect(?:ed|s)?|goal|target|todo|to do',
    'unable|rarely|seldom|scarcely|instead|rather than|except|apart from|other than|besides|almost|nearly|partly|partially|mostly|most of|half|some of|part of|so far|far from|only|but|however|though|although|yet|still|remains?|pending|missing|open|fail(?:s|ed|ing|ures?)?|broken|blocked',
    'doubt(?:s|ed|ful)?|claim(?:s|ed|ing)?|sa(?:id|ys?|ying)|think|thinks|thought|believe[sd]?|guess|assum(?:e|es|ed|ing)|hope|hopefully|seems?|appears?|maybe|perhaps|might|may|supposed(?:ly)?|allegedly|pretend(?:s|ed)?|wrong(?:ly)?|false(?:ly)?|untrue',
    'aber|außer|fast|mais|sauf|presque|pero|excepto|casi|quasi|mas|maar|bijna|men',
  ].join('|')})\b`,
);

/**
 * Matches negators of the languages in which issues are often written. Those of languages without blanks between words
 * match anywhere.
 */
const NEGATION =
  /(?<![\p{L}\p{N}_])(?:not|no|none|never|neither|nor|without|cannot|hardly|barely|incomplete|unfinished|nothing|nobody|no one|isnt|arent|nicht|nichts|kein\p{L}{0,2}|nie|niemals|ohne|pas|non|ne|jamais|aucune?|sans|ninguna?|nunca|sin|tampoco|não|nem|sem|nessuna?|senza|mai|niet|geen|nooit|inte|ingen|ikke|ei|eivät|не|ни|нет|нельзя|без|ні|nie|není|nejsou|nem|nincs|nu|değil|yok|لا|لم|ليس|नहीं|không|chưa|tidak|belum|bukan|δεν|δε|μην?|όχι|χωρίς|ούτε|κανένα|τίποτα|לא|אין|אינ\p{L}{1,2}|בלי|ללא|טרם|نه|نیست|هیچ|بدون|هنوز|ن(?:می|شد|کرد|بود|دار)\p{L}{0,12})(?![\p{L}\p{N}_])|n't\b|\bn'(?:est|a|ont|sont|y)\b|[不没沒未無无非]|ไม่|มิได้|ยัง|ない|ません|않|없|못|아니/u;

/** Matches negations that are good news. */
const GOOD_NEWS =
  /\b(?:with )?(?:no|without|zero|0) (?:\w{1,20} )?(?:errors?|warnings?|failures?|issues?|problems?|regressions?|failed|failing)\b|\bnothing (?:is |else |more )*(?:left|remains|remaining|to do)\b(?: to do)?/g;

/** An analysis with further facts about the final message. */
export interface AnalyzedTranscript {
  readonly analysis: Analysis;
  /** Length of the final message in characters. */
  readonly finalChars: number;
  /** True if the final message ends in a status block that is ignored because it is in a code fence. */
  readonly endsInFencedBlock: boolean;
}

/**
 * Judges the claims of the final message and adds what the agent's CLI reports. `doneTexts` are the user's texts that
 * claim that everything is done (done-signals.ts).
 */
export function analyzeTranscript(transcript: Transcript, doneTexts: readonly string[]): AnalyzedTranscript {
  const { finalMessage, denials } = transcript;
  const lines = markEnds(finalMessage, MAX_HEAD_CHARS, MAX_TAIL_CHARS);
  const { block, endsInFencedBlock } = findStatusBlock(lines);
  // Phrases are ignored if the message has a block.
  const prose = extractProse(lines, 'prose');
  const phrases = block === null ? findPhrases(prose, doneTexts) : NO_PHRASES;
  const signal: Signal =
    block === null
      ? {
          ...NO_SIGNAL,
          from: phrases.found ? 'phrases' : 'none',
          ...(transcript.agentError === null ? lastWordsOf(lines) : {}),
        }
      : { from: 'block', ...block };
  const analysis: Analysis = {
    format: transcript.format,
    signal,
    completionIndicator: block === null ? phrases.confidence >= CONFIDENT : block.exitSignal === true,
    confidence: block === null ? phrases.confidence : 100,
    testOnly: block === null ? phrases.testOnly : block.workType === 'TESTING',
    noWork: phrases.noWork,
    question: phrases.question || transcript.askedPerson,
    agentError: transcript.agentError,
    errors: findErrors(
      lines.some(({ within }) => within === 'quote') ? extractProse(lines, 'prose-and-quotes') : prose,
    ),
    denials,
    usageLimit: transcript.usageLimit,
    sessionId: transcript.sessionId,
    turns: transcript.turns,
    tokens: transcript.tokens,
    outputTokens: transcript.outputTokens,
    costUsd: transcript.costUsd,
  };
  return { analysis, finalChars: finalMessage.length, endsInFencedBlock };
}

/** Returns the last paragraph outside of code and quotes, for people who do not see the rest of the message. */
function lastWordsOf(lines: readonly MarkedLine[]): Pick<Signal, 'lastWords'> {
  const paragraphs = lines.map(({ text, within }) => (within === 'prose' ? text.trim() : '')).join('\n');
  const last = paragraphs.trimEnd().slice(-MAX_WORDS_CHARS).split('\n\n').at(-1) ?? '';
  const words = toOneLine(last, MAX_WORDS_CHARS);
  return words === '' ? {} : { lastWords: words };
}

const MAX_WORDS_CHARS = 500;

/**
 * Maximum characters read at the beginning of a message, more than any model writes; bounds the memory if something
 * else was printed.
 */
const MAX_HEAD_CHARS = 64 * 1024;

const MAX_TAIL_CHARS = 192 * 1024;

/** The signal of a message without claims. */
export const NO_SIGNAL: Omit<Signal, 'from'> = {
  status: null,
  exitSignal: null,
  testsStatus: null,
  workType: null,
  tasksCompleted: null,
  filesModified: null,
  recommendation: null,
  summary: null,
  asks: null,
  unreadable: [],
};

/**
 * Finds phrases as whole, un-negated words. `prose` is the message without code and quotes; `doneTexts` are the user's
 * texts that claim that everything is done. A doubtful phrase is ignored.
 */
export function findPhrases(prose: string, doneTexts: readonly string[]): Phrases {
  const sentences = sentencesOf(prose);
  const isAnyStated = (patterns: readonly RegExp[], unless?: RegExp): boolean =>
    sentences.some(
      (sentence) => unless?.test(sentence) !== true && patterns.some((pattern) => isStated(sentence, pattern)),
    );

  // Each line is also searched with its emphasis, because the user's text may be `__DONE__`.
  const isAgreed = closingLines(prose).some((line) =>
    doneTexts.some((text) =>
      [line, line.replace(/[*_]{2,3}/g, '').trim()].some(
        (read) => read.includes(normalizeSentence(text)) && isPlainlyStated(read, wholeWords(text)),
      ),
    ),
  );
  const complete = sentences.some((sentence) => COMPLETION.some((pattern) => isPlainlyStated(sentence, pattern)));
  const [only = '', ...more] = sentences.filter((sentence) => /[\p{L}\p{N}?]/u.test(sentence));
  const isLoneDone = more.length === 0 && LONE_DONE.test(only);
  const noWork = isAnyStated(NO_WORK, CONDITION) && !isAnyStated(MAKING);
  const testOnly = isAnyStated(TEST_RUN, INTENTION) && !isAnyStated(MAKING) && !isAnyStated(OTHER_WORK);
  const stuck = isAnyStated(STUCK);
  const question =
    sentences.some((sentence, index) => isAsked(sentence, index === sentences.length - 1)) ||
    isAnyStated(WAITING_FOR_ANSWER);
  const said = isAgreed ? 95 : complete ? 80 : isLoneDone ? CONFIDENT : 0;
  const score = Math.min(95, said + (noWork ? 40 : 0));
  return {
    found: isAgreed || complete || isLoneDone || noWork || testOnly || stuck || question,
    confidence: stuck ? Math.min(score, 40) : score,
    noWork,
    testOnly,
    question,
  };
}

/** Returns true if the sentence contains the phrase without a negation before it in the same clause. */
function isStated(sentence: string, phrase: RegExp): boolean {
  const match = phrase.exec(sentence);
  if (match === null) return false;
  const before = sentence.slice(0, match.index);
  const clause = before.slice(before.search(/[^,;:(]*$/));
  return !NEGATION.test(clause);
}

/** Returns true if the sentence contains the phrase and no other words qualify or negate it. */
function isPlainlyStated(sentence: string, phrase: RegExp): boolean {
  const match = phrase.exec(sentence);
  if (match === null) return false;
  const rest = `${sentence.slice(0, match.index)} … ${sentence.slice(match.index + match[0].length)}`.replace(
    GOOD_NEWS,
    '',
  );
  return !HEDGE.test(rest) && !NEGATION.test(rest);
}

/** Returns true if a sentence asks somebody. `What changed?` is such a question only if no answer follows. */
function isAsked(sentence: string, isLast: boolean): boolean {
  return (
    /\?[^\p{L}\p{N}]*$/u.test(sentence) &&
    (ASKING_SOMEBODY.test(sentence) || (isLast && /\b(?:which|what)\b/.test(sentence)))
  );
}

/** Returns the lines of the message's end, in lower case with single blanks. */
function closingLines(prose: string): readonly string[] {
  return prose
    .slice(-MAX_CHARS)
    .split('\n')
    .map((line) => normalizeSentence(line).slice(0, MAX_SENTENCE_CHARS));
}

function normalizeSentence(text: string): string {
  return text.toLowerCase().replace(/\s+/g, ' ').trim();
}

/** Returns a pattern that matches the text unless a letter or digit adjoins it. */
function wholeWords(text: string): RegExp {
  const literal = normalizeSentence(text).replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
  return new RegExp(`(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])`, 'u');
}

/**
 * Returns the sentences of the message's end, in lower case. A sentence may continue in the next line, but not in the
 * next list item.
 */
function sentencesOf(prose: string): readonly string[] {
  return prose
    .slice(-MAX_CHARS)
    .toLowerCase()
    .replace(/~~[^~\n]{1,500}~~/g, '')
    .replace(/[’‘]/g, "'")
    .replace(/[*_]{1,3}/g, '')
    .replace(/？/g, '? ')
    .replace(/[。！]/g, '. ')
    .split(/(?<=[.!?]["')\]»”]{0,3})\s+|\n(?=[^\S\n]*(?:\n|[-+•#|]|\d{1,9}[.)]|$))/)
    .map((sentence) =>
      sentence
        .replace(/\s+/g, ' ')
        .trim()
        .replace(/^(?:[-+•#|]+|\d{1,9}[.)]) /, '')
        .slice(0, MAX_SENTENCE_CHARS),
    )
    .filter((sentence) => sentence !== '');
}
