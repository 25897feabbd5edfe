import { Avatar, Combobox, Text, TextInput, useCombobox } from '@mantine/core';
import { IconCheck, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import classes from './client-list.module.css';

type Props = {
  label: string;
  clients: readonly { id: number; name: string }[];
  /** The id of the chosen client. */
  chosen?: number | undefined;
  /** Called if all clients are chosen. Without it, one must be. */
  onAll?: (() => void) | undefined;
  onChoose: (id: number) => void;
  /** Whether the user has opened the list to type. */
  isFocused?: boolean;
};

const ALL = 'all';
const ALL_CLIENTS = 'All clients';

/** A search field and the clients that match. The arrow keys and Enter choose, too. */
export const ClientList = ({ label, clients, chosen, onAll, onChoose, isFocused = false }: Props) => {
  const [search, setSearch] = useState('');
  const combobox = useCombobox({ opened: true });
  const words = search.trim().toLowerCase();
  const matches = (name: string): boolean => name.toLowerCase().includes(words);
  const found = clients.filter(({ name }) => matches(name));
  const offersAll = onAll !== undefined && matches(ALL_CLIENTS);
  return (
    <Combobox
      store={combobox}
      onOptionSubmit={(value) => (value === ALL ? onAll?.() : onChoose(Number(value)))}
    >
      <Combobox.EventsTarget>
        <TextInput
          label={label}
          placeholder="Search"
          mb="xs"
          autoFocus={isFocused}
          leftSection={<IconSearch size={16} stroke={1.6} aria-hidden />}
          value={search}
          onChange={({ currentTarget }) => {
            setSearch(currentTarget.value);
            combobox.selectFirstOption();
          }}
        />
      </Combobox.EventsTarget>
      <Combobox.Options aria-label={label} mah="24rem" className="scrolls">
        {offersAll && <Option value={ALL} name={ALL_CLIENTS} isChosen={chosen === undefined} />}
        {found.map(({ id, name }) => (
          <Option key={id} value={String(id)} name={name} isChosen={id === chosen} />
        ))}
        {found.length === 0 && !offersAll && <Combobox.Empty>No client matches.</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
};

const Option = ({ value, name, isChosen }: { value: string; name: string; isChosen: boolean }) => (
  <Combobox.Option value={value} active={isChosen} className={classes.option ?? ''}>
    <Avatar size={24} color={value === ALL ? 'gray' : 'green'} aria-hidden>
      {value === ALL ? '∗' : name.charAt(0)}
    </Avatar>
    <Text span size="sm" flex={1}>
      {name}
    </Text>
    {isChosen && <IconCheck size={16} stroke={1.75} aria-hidden />}
  </Combobox.Option>
);
