/** First and last names from many countries. Their order decides who works where: append, do not insert. */
const NAMES = `
Mei Tanaka, Haruto Sato, Yuki Nakamura, Aiko Watanabe, Kenji Kobayashi, Sakura Ito
Amara Okafor, Chidi Eze, Ngozi Adeyemi, Tunde Bakare, Ifeoma Nwosu
Sofía Hernández, Mateo Ramírez, Valentina Castillo, Diego Morales, Camila Ortega
Łukasz Wójcik, Zofia Kowalska, Paweł Nowak, Agnieszka Zielińska
Priya Sharma, Arjun Nair, Ananya Iyer, Rohan Mehta, Kavya Reddy, Vikram Desai, Meera Joshi
Søren Kjær, Freja Lindholm, Mads Østergaard, Ida Mortensen
Élodie Lefèvre, Thibault Moreau, Chloé Fontaine, Baptiste Girard
Fatima El Amrani, Youssef Benali, Salma Haddad, Karim Zerouali
Linh Nguyễn, Minh Trần, Thảo Phạm, Đức Hoàng
Aylin Demir, Emre Yılmaz, Zeynep Kaya, Burak Şahin, Elif Öztürk
Olena Kovalenko, Taras Shevchuk, Iryna Bondarenko, Andriy Melnyk
João Pereira, Beatriz Carvalho, Tiago Figueiredo, Inês Rocha
Thandiwe Dlamini, Sipho Nkosi, Naledi Mokoena, Johan Botha
Min-jun Kim, Seo-yeon Park, Ji-ho Lee, Ha-eun Choi
Giulia Ferrari, Lorenzo Bianchi, Chiara Romano, Matteo Esposito
Astrid Bergström, Erik Lundqvist, Elsa Nyström
Wanjiru Kamau, Otieno Odhiambo, Achieng Wekesa
Lars van Dijk, Femke de Vries, Sanne Bakker, Daan Visser
Anastasia Papadopoulou, Nikos Georgiou, Eleni Konstantinou
Liam O'Connor, Aoife Byrne, Niamh Gallagher, Cormac Doyle
Ximena Quispe, Luis Huamán, Rosa Mamani
Shira Cohen, Noam Levi, Talia Friedman
Reza Karimi, Shirin Ahmadi, Dariush Rahimi
Matilda Nieminen, Eero Virtanen, Aino Korhonen
Kofi Mensah, Abena Owusu, Yaw Asante
Petra Novotná, Tomáš Dvořák, Jana Svobodová
Siti Rahmawati, Budi Santoso, Dewi Lestari, Agus Wijaya
Hannah Müller, Jonas Weiß, Greta Schäfer, Lukas Brandt
Emily Carter, Marcus Johnson, Olivia Brooks, Ethan Walker, Grace Kimball
Ioana Popescu, Andrei Ionescu, Mihai Dumitru
Tane Ngata, Aroha Parata
Fang Wang, Wei Zhang, Xiu Li, Jun Chen, Na Liu
Carmen Ruiz, Javier Navarro, Lucía Gil
Malin Haugen, Sindre Bakke
Gabriela Souza, Rafael Almeida, Larissa Barbosa
Aisha Khan, Bilal Ahmed, Sana Malik
Kirra Mitchell, Jack Sullivan
Nomvula Zulu, Rasa Petrauskienė, Mārtiņš Bērziņš, Kristjan Tamm
Marta Horvat, Ivan Babić, Ana Jurić
Tenzin Dorjee, Pema Lhamo
Leilani Kealoha, Dakota Begay
Amélie Tremblay, Olivier Gagnon
Nino Beridze, Davit Grigoryan
Hiba Nasser, Omar Khalil`;

export type Name = {
  firstName: string;
  lastName: string /** Before the `@` of an address. */;
  local: string;
};

/** Letters that do not decompose into an ASCII letter and an accent. */
const LETTERS: Record<string, string> = { ł: 'l', ø: 'o', ß: 'ss', ı: 'i', đ: 'd', æ: 'ae' };

const localPartOf = (name: string): string =>
  name
    .toLowerCase()
    .replaceAll(/[łøßıđæ]/g, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFD')
    .replaceAll(/[\p{M}']/gu, '')
    .replaceAll(' ', '.');

export const DEMO_NAMES: Name[] = NAMES.trim()
  .split(/,\s+|\n/)
  .map((name) => {
    const [firstName = '', ...rest] = name.split(' ');
    return { firstName, lastName: rest.join(' '), local: localPartOf(name) };
  });
