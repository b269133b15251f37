// Search in the browser, without a server. The index is loaded at the first
// letter. An entry is a page or one of its parts, and matches if it has every
// word. A word in a title counts more than any number of them in the text.
const query = document.getElementById('query');
const results = document.getElementById('results');
const root = new URL('.', document.currentScript.src).href; // the folder of the site

let loading; // the promise of the index

// index loads the index once. After a failure, the next call tries again.
function index() {
  return loading ??= new Promise((resolve, reject) => {
    const script = document.createElement('script'); // fetch does not read from a disk
    script.src = root + 'search-index.js';
    script.onload = () => resolve(window.foliotPages);
    script.onerror = () => { loading = null; script.remove(); reject(new Error('the index cannot be loaded')); };
    document.head.append(script);
  });
}

// inTitle returns 2 if a word of the title begins with word, 1 if one contains it.
const inTitle = (title, word) => (title.split(/[^\p{L}\p{N}]+/u).some((t) => t.startsWith(word)) ? 2 : title.includes(word) ? 1 : 0);

function score(entry, words) {
  const page = entry.page.toLowerCase(), heading = entry.heading.toLowerCase(), text = entry.text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const often = text.split(word).length - 1;
    const inPage = inTitle(page, word), inHeading = inTitle(heading, word);
    if (!often && !inPage && !inHeading) return 0;
    sum += (entry.heading ? 100 * inHeading + 30 * inPage : 150 * inPage) + Math.min(often, 3);
  }
  return sum;
}

// best returns the best entries, at most three of a page.
function best(entries, words) {
  const count = {};
  return entries.map((entry) => ({ entry, points: score(entry, words) })).filter((one) => one.points)
    .sort((a, b) => b.points - a.points)
    .filter(({ entry }) => (count[entry.page] = (count[entry.page] ?? 0) + 1) <= 3).slice(0, 12);
}

function excerpt(text, word) {
  const at = Math.max(text.toLowerCase().indexOf(word), 0);
  const begin = Math.max(text.lastIndexOf(' ', Math.max(at - 60, 0)), 0);
  return (begin > 0 ? '… ' : '') + text.slice(begin, begin + 180).trim() + ' …';
}

async function search() {
  const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
  results.hidden = !words.length;
  if (!words.length) return;
  let entries;
  try {
    entries = await index();
  } catch {
    results.textContent = 'The index of the search cannot be loaded: check the connection, then type again.';
    return;
  }
  const found = best(entries, words);
  results.replaceChildren(...found.map(({ entry }) => {
    const link = document.createElement('a');
    link.href = root + entry.address;
    const title = document.createElement('strong'), text = document.createElement('span');
    title.textContent = entry.heading ? `${entry.page}: ${entry.heading}` : entry.page;
    text.textContent = excerpt(entry.text, words[0]);
    link.append(title, text);
    return link;
  }));
  if (!found.length) results.textContent = 'No page has all these words.';
}

query.addEventListener('input', search);
query.addEventListener('focus', search);
query.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') { query.value = ''; search(); }
  if (event.key === 'Enter') results.querySelector('a')?.click();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== query) { event.preventDefault(); query.focus(); }
});
results.addEventListener('click', () => { results.hidden = true; });
