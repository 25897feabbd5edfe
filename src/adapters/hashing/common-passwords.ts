export type CommonPasswords = ReadonlySet<string>;

let loaded: Promise<CommonPasswords> | undefined;

/** The 49,233 common passwords of zxcvbn, in lower case. Loaded at the first call, which takes 45 ms and 19 MB: most starts never need them. */
export const loadCommonPasswords = (): Promise<CommonPasswords> => {
  loaded ??= readCommonPasswords();
  return loaded;
};

const readCommonPasswords = async (): Promise<CommonPasswords> => {
  const { dictionary } = await import('@zxcvbn-ts/language-common');
  return new Set(dictionary['passwords-common']);
};
