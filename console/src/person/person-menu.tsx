import { Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { type Outputs, trpc } from '../api.ts';
import { MoreMenu } from '../components/more-menu.tsx';
import { canView } from '../layout/roles.ts';
import { useSession } from '../layout/use-session.ts';
import { nameOf } from '../people/name-of.ts';
import { ChangeAddressDialog } from './change-address-dialog.tsx';
import { EraseDialog } from './erase-dialog.tsx';
import { LogOutDialog } from './log-out-dialog.tsx';
import { PasswordLinkDialog } from './password-link-dialog.tsx';
import { ResendDialog, useResendable } from './resend-dialog.tsx';
import type { Person } from './use-person-form.ts';
import { ViewAsDialog } from './view-as-dialog.tsx';

type Opened = 'view-as' | 'password-link' | 'resend' | 'log-out' | 'address' | 'erase' | null;

type Props = {
  person: Person;
  may: Outputs['users']['permissions'];
  isSelf: boolean;
  mayChangeAddress: boolean;
  isActive: boolean;
};

/** The less common actions for a person. */
export const PersonMenu = ({ person, may, isSelf, mayChangeAddress, isActive }: Props) => {
  const { email } = person;
  const { roles } = useSession();
  const [opened, setOpened] = useState<Opened>(null);
  const navigate = useNavigate();
  const invitation = useResendable(email);
  const { data: apps = [] } = useQuery(
    trpc.users.viewableApps.queryOptions({ email }, { enabled: canView(roles) && !isSelf }),
  );
  const close = (): void => setOpened(null);
  const isOpen = (one: Opened) => ({ email, isOpen: opened === one, onClose: close });
  const mayErase = roles.is_superuser && !isSelf;
  return (
    <>
      <MoreMenu>
        {apps.length > 0 && (
          <Menu.Item onClick={() => setOpened('view-as')}>View an app as {nameOf(person)}…</Menu.Item>
        )}
        {may.can_revoke && isActive && (
          <Menu.Item onClick={() => setOpened('password-link')}>Mail a password link…</Menu.Item>
        )}
        {invitation && <Menu.Item onClick={() => setOpened('resend')}>Resend the invitation…</Menu.Item>}
        {may.can_revoke && <Menu.Item onClick={() => setOpened('log-out')}>Log out everywhere…</Menu.Item>}
        {mayChangeAddress && <Menu.Item onClick={() => setOpened('address')}>Change the address…</Menu.Item>}
        <Menu.Item
          onClick={() =>
            void navigate({
              to: '/people/$email',
              params: { email },
              search: { tab: 'profile' },
              replace: true,
            })
          }
        >
          {may.can_update ? 'Edit the profile' : 'Show the profile'}
        </Menu.Item>
        {mayErase && (
          <>
            <Menu.Divider />
            <Menu.Item component="a" href={`/api/v1/jb/users/${encodeURIComponent(email)}/export/`} download>
              Download all data
            </Menu.Item>
            <Menu.Item color="red" onClick={() => setOpened('erase')}>
              Erase this person…
            </Menu.Item>
          </>
        )}
      </MoreMenu>
      <ViewAsDialog {...isOpen('view-as')} name={nameOf(person)} apps={apps} />
      <PasswordLinkDialog {...isOpen('password-link')} />
      {invitation && <ResendDialog {...isOpen('resend')} invitation={invitation} />}
      <LogOutDialog {...isOpen('log-out')} />
      <ChangeAddressDialog {...isOpen('address')} />
      <EraseDialog {...isOpen('erase')} />
    </>
  );
};
