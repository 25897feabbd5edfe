/** Between the words of a name, however it is spelt. */
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
/** Too common elsewhere: a token may be a coin, and `auth` the way somebody logged in. */
const REQUEST_WORDS = [...WORDS, 'token', 'auth'];
const REQUEST_CREDENTIAL = namePattern(REQUEST_WORDS, '(?:$|:)');
const CREDENTIAL_LINE = namePattern(REQUEST_WORDS, ':');

/** No name is longer, and a letter may become 18. */
const MAX_NAME_LENGTH = 128;
const ASCII = /^[\x20-\x7e]*$/;

export const isAscii = (name: string): boolean => ASCII.test(name);

/** The name that a look-alike is read as: full-width letters, joiners and accents are undone. */
export const readableName = (name: string): string => {
  if (isAscii(name)) return name;
  const folded = name.trim().slice(0, MAX_NAME_LENGTH).normalize('NFKC');
  return isAscii(folded) ? folded : folded.replace(/[\p{Cf}\p{M}]/gu, '');
};

/** Whether one of the lines `name: value` of a text tells a credential. */
export const hasCredentialLine = (text: string): boolean =>
  // Line by line: gaps match line breaks too, so a search for each line start would go through all lines after it.
  text.split(/[\r\n]/).some((line) => CREDENTIAL_LINE.test(line));

/** The keys of a platform are few, and come with every entry. Keys that are not are judged each time. */
const MAX_KNOWN = 1_000;
const knownInRequest = new Map<string, boolean>();
const knownElsewhere = new Map<string, boolean>();

/** Whether a key, or a line `name: value`, names what logs somebody in: `HTTP_COOKIE`, `X-CSRFToken`, `accessToken`. */
export const isCredentialName = (name: string, inRequest: boolean): boolean => {
  const known = inRequest ? knownInRequest : knownElsewhere;
  const before = known.get(name);
  if (before !== undefined) return before;
  const verdict = (inRequest ? REQUEST_CREDENTIAL : CREDENTIAL).test(readableName(name));
  if (known.size < MAX_KNOWN && name.length <= MAX_NAME_LENGTH) known.set(name, verdict);
  return verdict;
};

/**
 * Parameters are named by their last word: `reset_token`, `user[password]`. A link may stand within a link, its signs
 * encoded once or more; then the rest of the outer parameter goes as well.
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

/** What both patterns need: most addresses have no parameters, and no login. */
const SIGNS = /[=%@]/;

/** An address or a query with `…` for the values of parameters that are secret, and for a login before its host. */
export const withoutSecrets = (text: string): string =>
  SIGNS.test(text) ? text.replace(LOGIN, '…@').replace(SECRET_PARAMETER, '$1…') : text;
