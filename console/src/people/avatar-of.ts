import { nameOf } from './name-of.ts';

type Pictured = Parameters<typeof nameOf>[0] & { profile_avatar: string };

/** The avatar with the initial, which the service draws for those without one of their own. */
export const DRAWN_AVATAR = /\/avatars\/[a-z0-9]\.svg$/;

/** The picture of a person. Drawn ones have the initial of the name that is shown beside them, instead of that of the address. */
export const avatarOf = (person: Pictured): string => {
  const [initial] = /[\p{L}\p{N}]/u.exec(nameOf(person)) ?? [];
  if (!initial) return person.profile_avatar;
  return person.profile_avatar.replace(DRAWN_AVATAR, `/avatars/${encodeURIComponent(initial)}.svg`);
};
