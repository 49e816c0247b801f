// Two functions that call the same one, for a time.
function leaf(number) {
  let total = 0;
  for (let i = 0; i < number; i++) total += i * i % 7;
  return total;
}

function seldom() {
  return leaf(20000);
}

function often() {
  return leaf(60000) + leaf(60000);
}

const end = Date.now() + 200;
while (Date.now() < end) seldom() + often();
