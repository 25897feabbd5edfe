import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a password link is about. The row it stands for holds no secret. */
export type PasswordLink = { id: number; userId: number; createdAt: Date };

const TOKEN_FORM = /^(\d{1,15})\.([\w-]{43})$/;

export type SignedLinks = ReturnType<typeof createSignedLinks>;

/**
 * The links that go out by mail. Each carries a signature by the service's key, so that neither the API, which
 * shows an invitation's key, nor a copy of the database is enough to make one.
 */
export const createSignedLinks = ({ secretKey, baseUrl }: { secretKey: string; baseUrl: string }) => {
  const sign = (...parts: (string | number)[]): string =>
    createHmac('sha256', secretKey).update(parts.join('\0')).digest('base64url');
  const passwordSignature = ({ id, userId, createdAt }: PasswordLink): string =>
    sign('password link', id, userId, createdAt.getTime());

  return {
    invitation: (key: string): string => `${baseUrl}/invitation/${key}/?signature=${sign('invitation', key)}`,

    isInvitationSigned: (key: string, signature: string): boolean =>
      isEqual(signature, sign('invitation', key)),

    passwordLink: (link: PasswordLink): string =>
      `${baseUrl}/password/reset/?token=${link.id}.${passwordSignature(link)}`,

    isPasswordLinkSigned: (link: PasswordLink, signature: string): boolean =>
      isEqual(signature, passwordSignature(link)),
  };
};

/** The id and the signature in the token of a password link, or null when it has not their form. */
export const parsePasswordToken = (token: string): { id: number; signature: string } | null => {
  const [, id, signature] = TOKEN_FORM.exec(token) ?? [];
  return id === undefined || signature === undefined ? null : { id: Number(id), signature };
};

const isEqual = (given: string, right: string): boolean => {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
};
