/** Separators between the words of a name. */
const GAP = String.raw`[\s_.-]*`;
const PREFIX =
  'http|x|proxy|set|amz|aws|goog|iap|cf|access|ms|forwarded|original|old|new|current|user|client|django|php|j';
const WORDS = [
  String.raw`cookies?\d?`,
  'csrf cookie',
  'authorization',
  '(?:api|auth|access|refresh|id|session|security|csrf|xsrf|csrf middleware|bearer) token',
  '(?:api|access|private|secret|secret access) key',
  'jwt(?: assertion)?',
  'pass(?:word|wd|phrase)',
  'secret',
  'sess(?:ion)? (?:id|key)',
  'sessid',
];

const namePattern = (words: readonly string[], end: string): RegExp =>
  new RegExp(
    `^[:\\s_.-]*(?:(?:${PREFIX})${GAP})*(?:${words.join('|').replaceAll(' ', GAP)})${GAP}${end}`,
    'i',
  );

const CREDENTIAL = namePattern(WORDS, '(?:$|:)');
/** Only within requests: elsewhere, `token` may be a coin, and `auth` a login method. */
const REQUEST_WORDS = [...WORDS, 'token', 'auth'];
const REQUEST_CREDENTIAL = namePattern(REQUEST_WORDS, '(?:$|:)');
const CREDENTIAL_LINE = namePattern(REQUEST_WORDS, ':');

/** No name is longer; normalization may turn one letter into 18. */
const MAX_NAME_LENGTH = 128;
const ASCII = /^[\x20-\x7e]*$/;

export const isAscii = (name: string): boolean => ASCII.test(name);

/** A name without full-width letters, joiners and accents, as a reader would understand it. */
export const readableName = (name: string): string => {
  if (isAscii(name)) return name;
  const folded = name.trim().slice(0, MAX_NAME_LENGTH).normalize('NFKC');
  return isAscii(folded) ? folded : folded.replace(/[\p{Cf}\p{M}]/gu, '');
};

/** Whether a line `name: value` of a string has a credential. */
export const hasCredentialLine = (text: string): boolean =>
  // One line at a time: separators match line breaks, so a multi-line search would be quadratic.
  text.split(/[\r\n]/).some((line) => CREDENTIAL_LINE.test(line));

/** Caches verdicts, because the same few keys come with every entry. */
const MAX_KNOWN = 1_000;
const knownInRequest = new Map<string, boolean>();
const knownElsewhere = new Map<string, boolean>();

/** Whether a key, or a line `name: value`, names a credential: `HTTP_COOKIE`, `X-CSRFToken`, `accessToken`. */
export const isCredentialName = (name: string, inRequest: boolean): boolean => {
  const known = inRequest ? knownInRequest : knownElsewhere;
  const before = known.get(name);
  if (before !== undefined) return before;
  const verdict = (inRequest ? REQUEST_CREDENTIAL : CREDENTIAL).test(readableName(name));
  if (known.size < MAX_KNOWN && name.length <= MAX_NAME_LENGTH) known.set(name, verdict);
  return verdict;
};

/**
 * Parameters by their last word: `reset_token`, `user[password]`. For a link within a link, percent-encoded once or more, the
 * rest of the outer parameter is masked too.
 */
const SECRET_PARAMETER = new RegExp(
  [
    '((?:token|secret|passw(?:or)?d|pwd|jwt|signature|cookie|authorization',
    '(?:api|access)[_.-]?key|sess(?:ion)?[_.-]?(?:id|key)',
    '(?:^|[?&;#/_.[-]|%(?:25)*(?:3f|26|23|3b|5b))(?:key|sig|auth|sid|otp))',
  ].join('|') + String.raw`(?:\]|%(?:25)*5d)?(?:=|%(?:25)*3d))[^&#]+`,
  'gi',
);
/** `user:password@` before a host */
const LOGIN = /(?<=\/\/)[^/?#@]*@/g;

/** Required by both patterns: most addresses have neither parameters nor a login. */
const SIGNS = /[=%@]/;

/** Replaces the values of secret parameters, and a login before the host, by `…`. */
export const withoutSecrets = (text: string): string =>
  SIGNS.test(text) ? text.replace(LOGIN, '…@').replace(SECRET_PARAMETER, '$1…') : text;
