import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';

/** A visited screen, with its title. */
export type Place = { to: string; params: Record<string, string>; label: string };

const KEY = 'recent-places';
const MAX_PLACES = 8;
const TITLE = / – Steward$/;

type Stored = { user: string; places: Place[] };

const isStored = (value: unknown): value is Stored =>
  typeof value === 'object' && value !== null && 'user' in value && 'places' in value;

const read = (user: string): Place[] => {
  try {
    const stored: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? 'null');
    return isStored(stored) && stored.user === user ? stored.places : [];
  } catch {
    return [];
  }
};

const addressOf = ({ to, params }: Omit<Place, 'label'>): string => JSON.stringify([to, params]);

/** The last places of the user in this tab, the newest first, without the current one. */
export const recentPlaces = (user: string, current: Omit<Place, 'label'>): Place[] =>
  read(user).filter((place) => addressOf(place) !== addressOf(current));

export const forgetPlaces = (): void => sessionStorage.removeItem(KEY);

/** Remembers each screen when the user leaves it for another: its title is known by then. */
export const useRememberedPlaces = (user: string): void => {
  const router = useRouter();
  useEffect(
    () =>
      router.subscribe('onBeforeNavigate', ({ pathChanged }) => {
        const match = router.state.matches.at(-1);
        if (!pathChanged || !match || !TITLE.test(document.title)) return;
        const place = {
          to: match.routeId,
          params: { ...match.params },
          label: document.title.replace(TITLE, ''),
        };
        const places = [place, ...recentPlaces(user, place)].slice(0, MAX_PLACES);
        sessionStorage.setItem(KEY, JSON.stringify({ user, places }));
      }),
    [router, user],
  );
};
