import { useInfiniteQuery, useSuspenseQueries } from '@tanstack/react-query';
import { trpc } from '../api.ts';

/** The data for the head of a person's screen, and for the first tab. */
export const usePerson = (email: string) => {
  const [{ data: person }, { data: may }, { data: memberships }, { data: access }, { data: screen }] =
    useSuspenseQueries({
      queries: [
        trpc.users.get.queryOptions({ email }),
        trpc.users.permissions.queryOptions({ email }),
        trpc.memberships.list.queryOptions({ email }),
        trpc.access.ofPerson.queryOptions({ email }),
        trpc.users.screen.queryOptions({ email }),
      ],
    });
  return { person, may, memberships, access, screen };
};

export type PersonData = ReturnType<typeof usePerson>;

const PAGE_SIZE = 10;

/** The mails and invitations of a person, newest first. */
export const usePersonMails = (email: string) =>
  useInfiniteQuery(
    trpc.mail.timeline.infiniteQueryOptions(
      { email, limit: PAGE_SIZE },
      { getNextPageParam: (page) => (page.length < PAGE_SIZE ? undefined : page.at(-1)?.id) },
    ),
  );
