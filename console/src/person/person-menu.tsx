import { Menu } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Outputs } from '../api.ts';
import { MoreMenu } from '../components/more-menu.tsx';
import { useSession } from '../layout/use-session.ts';
import { ChangeAddressDialog } from './change-address-dialog.tsx';
import { EraseDialog } from './erase-dialog.tsx';
import { LogOutDialog } from './log-out-dialog.tsx';
import { PasswordLinkDialog } from './password-link-dialog.tsx';
import { ResendDialog, useResendable } from './resend-dialog.tsx';
import type { Person } from './use-person-form.ts';

type Opened = 'password-link' | 'resend' | 'log-out' | 'address' | 'erase' | null;

type Props = {
  person: Person;
  may: Outputs['users']['permissions'];
  isSelf: boolean;
  isActive: boolean;
  onOffboard: () => void;
};

/** The less common actions for a person. */
export const PersonMenu = ({ person, may, isSelf, isActive, onOffboard }: Props) => {
  const { email } = person;
  const { roles } = useSession();
  const [opened, setOpened] = useState<Opened>(null);
  const navigate = useNavigate();
  const invitation = useResendable(email);
  const close = (): void => setOpened(null);
  const isOpen = (one: Opened) => ({ email, isOpen: opened === one, onClose: close });
  const mayChangeAddress =
    may.can_revoke && !isSelf && (roles.is_superuser || person.clientadmin_of.length === 0);
  const mayErase = roles.is_superuser && !isSelf;
  return (
    <>
      <MoreMenu>
        {may.can_revoke && isActive && (
          <Menu.Item onClick={() => setOpened('password-link')}>Mail a password link…</Menu.Item>
        )}
        {invitation && <Menu.Item onClick={() => setOpened('resend')}>Resend the invitation…</Menu.Item>}
        {may.can_revoke && <Menu.Item onClick={() => setOpened('log-out')}>Log out everywhere…</Menu.Item>}
        {may.can_deactivate && !isActive && <Menu.Item onClick={onOffboard}>Offboard…</Menu.Item>}
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
      <PasswordLinkDialog {...isOpen('password-link')} />
      {invitation && <ResendDialog {...isOpen('resend')} invitation={invitation} />}
      <LogOutDialog {...isOpen('log-out')} />
      <ChangeAddressDialog {...isOpen('address')} />
      <EraseDialog {...isOpen('erase')} />
    </>
  );
};
