import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { isWaiting } from '../mails/mails-filter.ts';

export type Mail = Outputs['mail']['list'][number];

const PAGE_SIZE = 200;
const REFRESH_MS = 3_000;

/**
 * The newest invitation mail of each address since a time, by address; reloaded while one of them is waiting.
 * @param since the time of the invitations: their mails are not older
 */
export const useDelivery = (client: number, addresses: ReadonlySet<string>, since: Date) => {
  const mails = useInfiniteQuery(
    trpc.mail.list.infiniteQueryOptions(
      { client, limit: PAGE_SIZE },
      {
        getNextPageParam: (page) => {
          const last = page.length < PAGE_SIZE ? undefined : page.at(-1);
          return last && last.created_at >= since ? last.id : undefined;
        },
        refetchInterval: ({ state }) =>
          state.data?.pages.flat().some((mail) => addresses.has(mail.recipient) && isWaiting(mail.status))
            ? REFRESH_MS
            : false,
      },
    ),
  );
  const { hasNextPage, isFetching, fetchNextPage } = mails;
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);

  const byAddress = new Map<string, Mail>();
  for (const mail of mails.data?.pages.flat() ?? [])
    if (mail.kind === 'invitation' && addresses.has(mail.recipient) && !byAddress.has(mail.recipient))
      byAddress.set(mail.recipient, mail);
  return { byAddress, error: mails.error };
};
