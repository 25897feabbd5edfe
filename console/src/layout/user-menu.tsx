import { Avatar, Button, Menu, Text, useMantineColorScheme } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { avatarOf } from '../people/avatar-of.ts';
import { nameOf } from '../people/name-of.ts';
import { logOut } from './log-out.ts';
import { useSession } from './use-session.ts';

/** @param isWide at the end of the navigation instead of the header for phones */
export const UserMenu = ({ isWide = false }: { isWide?: boolean }) => {
  const session = useSession();
  const { user } = session;
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position={isWide ? 'top-start' : 'bottom-end'}>
      <Menu.Target>
        <Button
          variant="subtle"
          px="xs"
          flex="none"
          aria-label={isWide ? `${nameOf(user)}, account of ${user.email}` : `Account of ${user.email}`}
          {...(isWide && { fullWidth: true, justify: 'flex-start', h: 40 })}
        >
          <Avatar src={avatarOf(user)} alt="" size={isWide ? 24 : 32} />
          {isWide && (
            <Text span ml="xs" size="sm" fw={500} c="var(--mantine-color-text)" truncate>
              {nameOf(user)}
            </Text>
          )}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item renderRoot={(props) => <Link {...props} to="/account" />}>Account</Menu.Item>
        <Menu.Item component="a" href="/">
          Apps and sessions
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>Colors</Menu.Label>
        {(['auto', 'light', 'dark'] as const).map((scheme) => (
          <Menu.Item
            key={scheme}
            onClick={() => setColorScheme(scheme)}
            aria-checked={scheme === colorScheme}
          >
            {{ auto: 'Like the system', light: 'Light', dark: 'Dark' }[scheme]}
            {scheme === colorScheme && ' ✓'}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={() => void logOut(session)}>Log out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
};
