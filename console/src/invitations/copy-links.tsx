import { Stack, Text, Textarea } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { steward, trpc } from '../api.ts';
import { Dialog } from '../components/dialog.tsx';
import { messageOf } from '../components/screen-error.tsx';
import { notify } from '../components/toasts.ts';
import { mayDo } from '../session/roles.ts';
import { useSession } from '../session/use-session.ts';
import { MAX_SELECTED } from './use-invitation-selection.ts';

/**
 * Copies the link of an invitation, or the links of several as a table with their addresses, which the audit trail records for each.
 * Without access to the clipboard, a dialog shows them. `copy` is null for users who do not see links, and if a mail server sends them.
 */
export const useCopyLinks = () => {
  const { roles, sends_mail } = useSession();
  const queryClient = useQueryClient();
  const [shown, setShown] = useState<string | null>(null);
  const { mutate, isPending } = useMutation({
    mutationFn: async (ids: readonly number[]) => {
      const links: string[] = [];
      for (let sent = 0; sent < ids.length; sent += MAX_SELECTED) {
        const request = { ids: ids.slice(sent, sent + MAX_SELECTED) };
        const { results } = await steward.api.invitations.copyLinks.mutate(request);
        for (const { email, url } of results)
          if (url !== null) links.push(ids.length === 1 ? url : `${email}\t${url}`);
      }
      return links;
    },
    onSuccess: async (links, { length }) => {
      const table = links.join('\n');
      const isCopied = await write(table);
      if (!isCopied) setShown(table);
      else notify(doneText(links.length, length - links.length));
    },
    onError: (error) => notify(messageOf(error), { isFailure: true }),
    onSettled: () => queryClient.invalidateQueries(trpc.audit.pathFilter()),
  });
  const panel = (
    <Dialog isOpen={shown !== null} onClose={() => setShown(null)} title="Links of the invitations" size="lg">
      <Stack>
        <Text>{WARNING}</Text>
        <Textarea
          label="Links"
          value={shown ?? ''}
          readOnly
          autosize
          minRows={4}
          maxRows={16}
          data-autofocus
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      </Stack>
    </Dialog>
  );
  return { copy: !sends_mail && mayDo(roles, 'manage-people') ? mutate : null, isPending, panel };
};

const WARNING = 'Give each link only to its invitee. Anyone who opens it can create the account.';

const doneText = (copied: number, others: number): string =>
  [
    copied === 1 ? 'Copied 1 link.' : `Copied ${copied.toLocaleString()} links with their addresses.`,
    others > 0 && `${others.toLocaleString()} had none, because they are closed.`,
    WARNING,
  ]
    .filter(Boolean)
    .join(' ');

/** Whether the browser allowed it: it refuses on pages without TLS. */
const write = async (text: string): Promise<boolean> => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
};
