import{modules as o}from"./4483.shared.js";import{modules as s}from"./74974.shared.js";const t=9696,d=[9696],m={...o,...s};export{t as id,d as ids,m as modules};
