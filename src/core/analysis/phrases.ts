/** What the words of a message without a status block suggest. */
export interface Phrases {
  /** Whether any phrase was found at all. */
  readonly found: boolean;
  /** 0–95: never as sure as a status block. */
  readonly confidence: number;
  readonly noWork: boolean;
  readonly testOnly: boolean;
  readonly question: boolean;
}

export const NO_PHRASES: Phrases = { found: false, confidence: 0, noWork: false, testOnly: false, question: false };

/** A completion indicator counts from here. */
export const CONFIDENT = 60;

/** Only the end of a message speaks of its outcome; this bounds the work as well. */
const MAX_CHARS = 64 * 1024;
const MAX_SENTENCE_CHARS = 1_000;

/** Reads phrases as whole words, un-negated. `prose` is the message without code and quotes. */
export function readPhrases(prose: string): Phrases {
  const sentences = sentencesOf(prose);
  const says = (patterns: readonly RegExp[]): boolean => sentences.some((sentence) => patterns.some((pattern) => isStated(sentence, pattern)));

  const complete = sentences.some((sentence) => !HEDGE.test(sentence) && COMPLETION.some((pattern) => isStated(sentence, pattern)));
  const making = says(MAKING);
  const noWork = says(NO_WORK) && !making;
  const testOnly = says(TEST_RUN) && !making;
  const stuck = says(STUCK);
  const question = sentences.some((sentence) => sentence.endsWith('?') && ASKING.test(sentence)) || says(WAITING_FOR_ANSWER);
  const score = Math.min(95, (complete ? 80 : 0) + (noWork ? 40 : 0));
  return { found: complete || noWork || testOnly || stuck || question, confidence: stuck ? Math.min(score, 40) : score, noWork, testOnly, question };
}

const ALL = String.raw`(?:all|every|each)(?: (?:of|the|my|our|\d{1,5}|remaining|required|open|planned|requested)){0,3}`;
const WORK = String.raw`(?:tasks?|items?|stories|story|work|requirements?|features?|boxes|criteria|goals?|steps?|todos?)`;
const IS = String.raw`(?: (?:is|are|has been|have been|was|were|now|fully|successfully|all)){0,4}`;
const DONE = String.raw`(?:complete|completed|done|finished|implemented)`;

const COMPLETION: readonly RegExp[] = [
  new RegExp(String.raw`\b${ALL} ${WORK}(?: (?:in|of|on|from) the (?:plan|list|queue|file|issue|project))?${IS} ${DONE}\b`),
  new RegExp(String.raw`\b(?:i|we)(?: have|'ve)? (?:completed|finished|implemented) (?:all|everything|every)\b`),
  new RegExp(String.raw`\b(?:project|plan|implementation|everything) (?:is|are|has been|was)${IS} ${DONE}\b`),
  new RegExp(String.raw`^(?:project|implementation|everything|all) ${DONE}\b`),
  /\bready for (?:review|merge|merging|release)\b/,
  /\bno (?:open |remaining |more |further |outstanding )?(?:tasks|work|items)(?: are| is)? (?:left|remaining|remain|remains|open)\b/,
  /\bno (?:remaining|more|further|outstanding) (?:tasks|work|items)\b/,
];

const NO_WORK: readonly RegExp[] = [
  /\bnothing(?: \w{1,20})? to (?:do|change|implement|fix)\b/,
  /\bno (?:code |file |further |more |additional )?changes? (?:(?:were|was|are|is) )?(?:needed|required|necessary|made)\b/,
  /\bno (?:more |further |remaining )?work (?:(?:is|was) )?(?:needed|left|remaining|required|to do)\b/,
  /\balready (?:fully )?(?:implemented|complete|completed|done|up to date|in place)\b/,
];

/** A test run: the sentence says both that something ran and that it was tests. */
const TEST_RUN: readonly RegExp[] = [
  /\b(?:ran|run|running|runs|re-?ran|re-?running|executed|executing)(?: [\w.'/-]{1,40}){0,6} (?:tests?|test-suite|pytest|jest|vitest|mocha|bats|ctest|rspec|phpunit|tox)\b/,
  /\btests? (?:are |were )?(?:ran|run|running|executed)\b/,
];
const MAKING: readonly RegExp[] = [
  /(?<!already (?:fully )?)\b(?:added|implemented|created|wrote|built|fixed|changed|updated|refactored|modified|removed|deleted|edited|introduced|renamed|replaced|extended|rewrote|committed|documented|moved|adding|implementing|creating|writing|fixing|changing|updating|refactoring|modifying|removing|editing)\b/,
];
const STUCK: readonly RegExp[] = [
  /\b(?:i am|i'm|we are|am) (?:completely |totally )?(?:stuck|blocked)\b/,
  /\b(?:can't|cannot|can not|unable to|not able to|could not|couldn't) (?:proceed|continue|go on|make progress|complete|finish)\b/,
  /\bblocked (?:by|on)\b/,
];
const ASKING = /\b(?:should (?:i|we)|shall (?:i|we)|(?:can|could|may|must) (?:i|we)|do you|would you|could you|can you|will you|are you|which|what|how should|how do|where should|is it (?:ok|okay|fine|alright)|am i|want me to|prefer)\b/;
const WAITING_FOR_ANSWER: readonly RegExp[] = [
  /\bplease (?:confirm|clarify|advise|tell me|let me know|answer|decide|choose)\b/,
  /\blet me know (?:if|whether|which|how|what) (?:you|i|to)\b/,
  /\b(?:waiting|await|awaiting) (?:for )?(?:your|an? answer|confirmation|clarification|instructions|feedback)\b/,
  /\bi need (?:your|clarification|confirmation|more information)\b/,
];

/** A whole sentence that speaks of what would be, or makes an exception. */
const HEDGE = /\?$|\b(?:if|once|when|until|unless|before|after|will|would|should|could|must|make sure|ensure|except|apart from|other than|besides|almost|nearly|partly|partially|mostly|so far|so that|in order to)\b/;
const NEGATION = /\b(?:not|no|none|never|neither|nor|without|cannot|hardly|incomplete|nothing)\b|n't\b/;

/** Whether the sentence contains the phrase and nothing before it, in the same clause or inside it, negates it. */
function isStated(sentence: string, phrase: RegExp): boolean {
  const match = phrase.exec(sentence);
  if (match === null) return false;
  const before = sentence.slice(0, match.index);
  const clause = before.slice(before.search(/[^,;:(]*$/));
  return !NEGATION.test(clause);
}

function sentencesOf(prose: string): readonly string[] {
  return prose
    .slice(-MAX_CHARS)
    .toLowerCase()
    .replace(/[’‘]/g, "'")
    .replace(/[*_]{1,3}/g, '')
    .split(/(?<=[.!?])\s+|[\n;]|\s[—–-]\s/)
    .map((sentence) => sentence.replace(/\s+/g, ' ').trim().slice(0, MAX_SENTENCE_CHARS))
    .filter((sentence) => sentence !== '');
}
