import { nameOf } from './name-of.ts';

type Pictured = Parameters<typeof nameOf>[0] & { profile_avatar: string };

/** The avatar with an initial, which the service draws for people without their own. */
export const DRAWN_AVATAR = /\/avatars\/[a-z0-9]\.svg$/;

/** The picture of a person. If it is drawn, its initial comes from the shown name instead of the address. */
export const avatarOf = (person: Pictured): string => {
  const [initial] = /[\p{L}\p{N}]/u.exec(nameOf(person)) ?? [];
  if (!initial) return person.profile_avatar;
  return person.profile_avatar.replace(DRAWN_AVATAR, `/avatars/${encodeURIComponent(initial)}.svg`);
};
