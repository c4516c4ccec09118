import{modules as o}from"./56590.shared.js";import{modules as s}from"./9412.shared.js";const t=9412,d=[9412],m={...o,...s};export{t as id,d as ids,m as modules};
