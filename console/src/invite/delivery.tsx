import { Button } from '@mantine/core';
import type { Outputs } from '../api.ts';
import { ProblemAlert } from '../components/problem-alert.tsx';
import { ScreenHeader } from '../components/screen-header.tsx';
import { type Column, VirtualTable } from '../components/virtual-table.tsx';
import { useInvitationActions } from '../invitations/invitation-actions.tsx';
import { MailLink } from '../mails/mail-link.tsx';
import { MailNotice } from '../mails/mail-notice.tsx';
import { reasonColumn, reasonOf } from '../mails/mail-reason.tsx';
import { STATUS_LABELS } from '../mails/mail-status.tsx';
import { MAIL_STATUSES } from '../mails/mails-filter.ts';
import { InvitationState } from './invitation-state.tsx';
import { useDelivery } from './use-delivery.ts';

export type SentInvitations = Extract<Outputs['invitations']['create'], readonly unknown[]>;
type Sent = SentInvitations[number];

type Props = { sent: SentInvitations; client: number; onMore: () => void };

const noMore = (): void => {};

/** What became of each invitation that was just sent. */
export const Delivery = ({ sent, client, onMore }: Props) => {
  const { byAddress, error } = useDelivery(client, new Set(sent.map(({ email }) => email)), timeOf(sent));
  const { menuOf, panels } = useInvitationActions();
  const counts = MAIL_STATUSES.map((status) => {
    const count = [...byAddress.values()].filter((mail) => mail.status === status).length;
    return count > 0 && `${count} ${STATUS_LABELS[status].toLowerCase()}`;
  });
  const hasReasons = [...byAddress.values()].some((mail) => reasonOf(mail) !== '');
  const columns: Column<Sent>[] = [
    { heading: 'Email address', width: '2fr', cell: ({ email }) => email },
    { heading: 'Mail', width: '8rem', cell: ({ email }) => <MailLink mail={byAddress.get(email)} /> },
    { heading: 'Invitation', width: '8rem', cell: ({ id }) => <InvitationState id={id} /> },
    ...(hasReasons ? [reasonColumn<Sent>(({ email }) => byAddress.get(email))] : []),
    { heading: 'Actions', width: '6rem', cell: menuOf },
  ];
  return (
    <>
      <ScreenHeader
        title="Invitations created"
        lead={<span role="status">{counts.filter(Boolean).join(', ')}</span>}
        actions={<Button onClick={onMore}>Invite more people</Button>}
      />
      <MailNotice />
      <ProblemAlert error={error} />
      {panels}
      <VirtualTable
        label="Invitations created"
        columns={columns}
        rows={sent}
        keyOf={({ id }) => id}
        hasMore={false}
        onMore={noMore}
      />
    </>
  );
};

/** The latest of the invitations. Renewed ones keep their earlier time. */
const timeOf = (sent: SentInvitations): Date =>
  new Date(Math.max(...sent.map(({ date_invited: date }) => date.getTime())));
