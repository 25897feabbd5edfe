/** First choice first: zstd takes a third of the time of the others, for texts that end up as long. */
export const ENCODINGS = ['zstd', 'br', 'gzip'] as const;

export type Encoding = (typeof ENCODINGS)[number];

/** Longer ones are no browser's: what they ask for is not worth the time to find out. */
const MAX_HEADER_LENGTH = 256;

/** RFC 9110 §12.5.3. What is not mentioned is as good as `*`, and `identity` is always there, but the last choice. */
export const chooseEncoding = (acceptEncoding: string): Encoding | 'identity' => {
  if (acceptEncoding.length > MAX_HEADER_LENGTH) return 'identity';
  const weights = weightsOf(acceptEncoding);
  const weightOf = (encoding: string) => weights.get(encoding) ?? weights.get('*') ?? 0;
  const best = ENCODINGS.reduce((first, next) => (weightOf(next) > weightOf(first) ? next : first));
  return weightOf(best) > 0 && weightOf(best) >= (weights.get('identity') ?? 0) ? best : 'identity';
};

const weightsOf = (acceptEncoding: string): Map<string, number> => {
  const weights = new Map<string, number>();
  for (const part of acceptEncoding.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim());
    weights.set(name === 'x-gzip' ? 'gzip' : name, qualityOf(parameters));
  }
  return weights;
};

/** What is no number between 0 and 1 is as if it were not asked for. */
const qualityOf = (parameters: readonly string[]): number => {
  const quality = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (quality === undefined) return 1;
  const number = quality.replace(/^q\s*=\s*/, '');
  return /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(number) ? Number(number) : 0;
};
